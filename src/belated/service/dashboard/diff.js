// Where two versions differ.

const CHANGES = 50;

class Diff {
  constructor() {
    this.most = CHANGES;
    at('diff-form').addEventListener('submit', event => {
      event.preventDefault();
      this.compare(+at('diff-from').value, +at('diff-to').value);
    });
    at('diff-form').addEventListener('input', () => { this.chosen = true; });
    at('diff-more').addEventListener('click', () => {
      this.most += 4 * CHANGES;
      this.draw();
    });
  }

  // Until somebody chooses, it compares the two newest.
  follow(spec, serving) {
    if (this.spec !== spec) [this.spec, this.chosen, this.pair] = [spec, false, null];
    show(at('diff'), serving.newest > 1);
    for (const id of ['diff-from', 'diff-to']) at(id).max = serving.newest;
    if (!this.chosen && serving.newest > 1) this.load(serving.newest - 1, serving.newest);
  }

  compare(from, to) {
    this.chosen = true;
    this.load(from, to);
  }

  async load(from, to) {
    const pair = `${from}-${to}`;
    if (this.pair === pair) return;
    this.pair = pair;
    [at('diff-from').value, at('diff-to').value] = [from, to];
    const {spec} = this;
    let found = null;
    let why = '';
    try {
      found = await ask(of(spec.name, `/policy/diff?from=${from}&to=${to}`));
    } catch (error) {
      why = error.message;
    }
    if (this.pair !== pair || this.spec !== spec) return;
    if (!found) this.pair = null; // so that it may be asked again
    [this.found, this.most] = [found, CHANGES];
    if (found) this.draw();
    else this.refuse(why);
  }

  refuse(why) {
    say(at('diff-words'), why);
    show(at('diff-table'), false);
    show(at('diff-more'), false);
  }

  draw() {
    const {old, new: later, changes, epsilon} = this.found;
    const cells = this.spec.states.length * this.spec.horizon;
    const random = epsilon[0] === epsilon[1] ? ''
      : ` The chance of a random action went from ${figure(epsilon[0])} to ${figure(epsilon[1])}.`;
    const some = `${count(changes.length)} of ${many(cells, 'decision')} changed`;
    say(at('diff-words'), changes.length
      ? `${some} from version ${count(old)} to ${count(later)}.${random}`
      : `Versions ${count(old)} and ${count(later)} play the same.${random}`);
    const palette = new Palette(this.spec.actions);
    at('diff-list').replaceChildren(
      ...changes.slice(0, this.most).map(change => changeRow(change, palette)));
    show(at('diff-table'), changes.length > 0);
    show(at('diff-more'), changes.length > this.most);
    say(at('diff-more'), `More (${count(changes.length - this.most)})`);
  }
}

function changeRow({step, state, before, after}, palette) {
  return make('tr', {},
    make('td', {class: 'number'}, String(step)),
    make('td', {class: 'name'}, state),
    make('td', {}, ...named(before, palette)),
    make('td', {class: 'quiet'}, '→'),
    make('td', {}, ...named(after, palette)));
}

function named(actions, palette) {
  return actions.map(name => make('span', {class: 'action'},
    palette.swatch(name), make('span', {class: 'name'}, name)));
}
