// Legend of the map. Selecting an action dims the others.

class Legend {
  constructor(onChange) {
    this.onChange = onChange;
    this.selected = null;
  }

  // Shows short names too if the cells use these.
  show(palette, {explore, terminal, allowed}, short) {
    const {actions, keys} = palette;
    const drawn = explore.some(step => Object.keys(step).length);
    replaceRows(byId('legend'), [
      ...actions.map((name, i) => {
        const text = short && keys[i] !== name ? `${keys[i]} · ${name}` : name;
        const pressed = {'aria-pressed': String(this.selected === i)};
        const item = makeButton('', `legend-${i}`, () => this.toggle(i), pressed);
        item.append(palette.swatch(name), element('span', {class: 'name'}, text));
        return item;
      }),
      ...(drawn ? [element('span', {class: 'key drawn'}, 'drawn at random')] : []),
      ...(terminal ? [element('span', {class: 'key terminal'}, 'terminal')] : []),
      ...(allowed ? [element('span', {class: 'key restricted'}, 'some actions not allowed')] : []),
    ]);
  }

  toggle(action) {
    this.selected = this.selected === action ? null : action;
    this.onChange();
  }

  dims(actions) {
    return this.selected !== null && !actions.includes(this.selected);
  }
}
