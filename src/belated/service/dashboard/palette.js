// Colours and short names of actions. The first eight colours are those of Okabe and Ito; further ones
// are shades of these. Cells also have texts, so colour is never the only distinction.

const COLOURS = [
  [0, 114, 178], [230, 159, 0], [0, 158, 115], [204, 121, 167],
  [86, 180, 233], [213, 94, 0], [240, 228, 66], [130, 130, 130],
];
const SHADES = [[255, 0], [255, 0.5], [0, 0.45], [255, 0.75]];

class Palette {
  constructor(actions) {
    this.actions = actions;
    this.index = new Map(actions.map((name, i) => [name, i]));
    this.keys = shortNames(actions);
  }

  rgb(action) {
    const [target, share] = SHADES[Math.floor(action / COLOURS.length) % SHADES.length];
    return COLOURS[action % COLOURS.length].map(part => Math.round(part + (target - part) * share));
  }

  colour(action) {
    return `rgb(${this.rgb(action).join(' ')})`;
  }

  textColour(action) {
    const [r, g, b] = this.rgb(action).map(part => (part / 255) ** 2.2);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.2 ? '#111' : '#fff';
  }

  swatch(name) {
    const node = element('span', {class: 'swatch', 'aria-hidden': 'true'});
    node.style.background = this.colour(this.index.get(name));
    return node;
  }
}

// Returns the shortest unique prefixes of the names, or numbers if three letters do not suffice.
function shortNames(names) {
  for (const length of [1, 2, 3]) {
    const keys = names.map(name => [...name].slice(0, length).join(''));
    if (new Set(keys).size === names.length) return keys;
  }
  return names.map((_, i) => String(i));
}
