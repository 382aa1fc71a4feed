// Table of versions, newest first.

const VERSIONS_PAGE_SIZE = 20;
const SHORT_LIST_SIZE = 8;

class Versions {
  // `callbacks` has the functions show, compare and rollBack.
  constructor(callbacks) {
    this.callbacks = callbacks;
    this.limit = VERSIONS_PAGE_SIZE;
    byId('versions-more').addEventListener('click', () => {
      this.limit += VERSIONS_PAGE_SIZE;
      this.draw();
    });
  }

  show(name, versions, serving, shown, history) {
    if (this.name !== name) [this.name, this.limit] = [name, VERSIONS_PAGE_SIZE];
    setVisible(byId('versions'), isKnown(versions));
    if (!versions) return;
    const key = JSON.stringify([name, versions.length, serving, shown, history?.seq]);
    if (key === this.key) return;
    this.key = key;
    this.content = {versions, serving, shown, bins: binsByVersion(history)};
    this.draw();
  }

  draw() {
    const {versions, serving, shown, bins} = this.content;
    const newest = [...versions].reverse();
    setText(byId('versions-note'), formatCount(versions.length));
    byId('versions').classList.toggle('few', versions.length <= SHORT_LIST_SIZE);
    replaceRows(byId('versions-list'), newest.slice(0, this.limit)
      .map(({version}) => this.row(version, serving, shown, bins.get(version))));
    setVisible(byId('versions-more'), newest.length > this.limit);
    setText(byId('versions-more'), `More (${formatCount(newest.length - this.limit)})`);
  }

  row(version, serving, shown, bin) {
    const served = version === serving.version;
    const show = () => this.callbacks.show(version);
    const name = makeButton(`v${formatCount(version)}`, `show-${version}`, show, {
      class: 'link', 'aria-pressed': String(version === shown),
      'aria-label': `Show the policy of version ${version}`,
    });
    const tag = served ? 'served' : version === serving.newest ? 'newest' : '';
    return element('tr', {class: version === shown ? 'chosen' : null},
      element('th', {scope: 'row'}, name, ' ', ...(tag ? [element('span', {class: `badge ${tag}`}, tag)] : [])),
      element('td', {class: 'number'},
        bin ? `${formatCount(bin.returned)} of ${formatCount(bin.opened)}` : NO_VALUE),
      element('td', {class: 'buttons'}, ...this.buttons(version, serving.version)));
  }

  buttons(version, served) {
    const buttons = [];
    if (version > 1) {
      const compare = () => this.callbacks.compare(version - 1, version);
      buttons.push(makeButton('Diff', `compare-${version}`, compare, {
        'aria-label': `Compare version ${version - 1} with ${version}`,
      }));
    }
    if (version !== served) {
      const older = version < served;
      const rollBack = () => this.callbacks.rollBack(version);
      buttons.push(makeButton(older ? 'Roll back' : 'Serve', `serve-${version}`, rollBack, {
        'aria-label': `${older ? 'Roll back to' : 'Serve'} version ${version}`,
      }));
    }
    return buttons;
  }
}

// Returns the bins of the history that hold a single version, by version.
function binsByVersion(history) {
  const bins = history?.versions.bins ?? [];
  return new Map(bins.filter(bin => bin.first === bin.last).map(bin => [bin.first, bin]));
}
