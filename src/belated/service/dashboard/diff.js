// Differences between two versions.

const CHANGES_PAGE_SIZE = 50;

class Diff {
  constructor() {
    this.limit = CHANGES_PAGE_SIZE;
    byId('diff-form').addEventListener('submit', event => {
      event.preventDefault();
      this.compare(+byId('diff-from').value, +byId('diff-to').value);
    });
    byId('diff-form').addEventListener('input', () => { this.chosen = true; });
    byId('diff-more').addEventListener('click', () => {
      this.limit += 4 * CHANGES_PAGE_SIZE;
      this.draw();
    });
  }

  // Compares the two newest versions until the user chooses others.
  follow(spec, serving) {
    if (this.spec !== spec) [this.spec, this.chosen, this.pair] = [spec, false, null];
    setVisible(byId('diff'), serving.newest > 1);
    for (const id of ['diff-from', 'diff-to']) byId(id).max = serving.newest;
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
    [byId('diff-from').value, byId('diff-to').value] = [from, to];
    const {spec} = this;
    let found = null;
    let message = '';
    try {
      found = await request(problemPath(spec.name, `/policy/diff?from=${from}&to=${to}`));
    } catch (error) {
      message = error.message;
    }
    if (this.pair !== pair || this.spec !== spec) return;
    if (!found) this.pair = null; // allows a retry
    [this.found, this.limit] = [found, CHANGES_PAGE_SIZE];
    if (found) this.draw();
    else this.showFailure(message);
  }

  showFailure(message) {
    setText(byId('diff-words'), message);
    setVisible(byId('diff-table'), false);
    setVisible(byId('diff-more'), false);
  }

  draw() {
    const {old, new: later, changes, epsilon} = this.found;
    const ended = (this.spec.terminal ?? []).length;
    const cells = (this.spec.states.length - ended) * this.spec.horizon;
    const [from, to] = epsilon.map(formatNumber);
    const random = epsilon[0] === epsilon[1] ? ''
      : ` The probability of a random action changed from ${from} to ${to}.`;
    const changed = `${formatCount(changes.length)} of ${pluralize(cells, 'decision')} changed`;
    setText(byId('diff-words'), changes.length
      ? `${changed} from version ${formatCount(old)} to ${formatCount(later)}.${random}`
      : `Versions ${formatCount(old)} and ${formatCount(later)} are the same.${random}`);
    const palette = new Palette(this.spec.actions);
    byId('diff-list').replaceChildren(
      ...changes.slice(0, this.limit).map(change => changeRow(change, palette)));
    setVisible(byId('diff-table'), changes.length > 0);
    setVisible(byId('diff-more'), changes.length > this.limit);
    setText(byId('diff-more'), `More (${formatCount(changes.length - this.limit)})`);
  }
}

function changeRow({step, state, before, after}, palette) {
  return element('tr', {},
    element('td', {class: 'number'}, String(step)),
    element('td', {class: 'name'}, state),
    element('td', {}, ...actionLabels(before, palette)),
    element('td', {class: 'quiet'}, '→'),
    element('td', {}, ...actionLabels(after, palette)));
}

function actionLabels(actions, palette) {
  return actions.map(name => element('span', {class: 'action'},
    palette.swatch(name), element('span', {class: 'name'}, name)));
}
