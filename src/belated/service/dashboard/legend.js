// The legend of the map; an action that is pressed is seen alone.

class Legend {
  constructor(changed) {
    this.changed = changed;
    this.alone = null;
  }

  // Short names stand beside the long ones where only these fit into cells.
  show(palette, {explore}, short) {
    const {actions, keys} = palette;
    const drawn = explore.some(step => Object.keys(step).length);
    replaceRows(at('legend'), [
      ...actions.map((name, i) => {
        const text = short && keys[i] !== name ? `${keys[i]} · ${name}` : name;
        const pressed = {'aria-pressed': String(this.alone === i)};
        const made = button('', `legend-${i}`, () => this.press(i), pressed);
        made.append(palette.swatch(name), make('span', {class: 'name'}, text));
        return made;
      }),
      ...(drawn ? [make('span', {class: 'key drawn'}, 'drawn at random')] : []),
    ]);
  }

  press(action) {
    this.alone = this.alone === action ? null : action;
    this.changed();
  }

  hides(actions) {
    return this.alone !== null && !actions.includes(this.alone);
  }
}
