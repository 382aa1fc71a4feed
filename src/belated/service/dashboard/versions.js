// Versions, newest first.

const TOGETHER = 20;
const FEW = 8;

class Versions {
  // `act` knows what to do with a version: show, compare, rollBack.
  constructor(act) {
    this.act = act;
    this.most = TOGETHER;
    at('versions-more').addEventListener('click', () => {
      this.most += TOGETHER;
      this.draw();
    });
  }

  show(name, versions, serving, shown, history) {
    if (this.name !== name) [this.name, this.most] = [name, TOGETHER];
    show(at('versions'), known(versions));
    if (!versions) return;
    const key = JSON.stringify([name, versions.length, serving, shown, history?.seq]);
    if (key === this.key) return;
    this.key = key;
    this.drawn = {versions, serving, shown, brought: brought(history)};
    this.draw();
  }

  draw() {
    const {versions, serving, shown, brought: rows} = this.drawn;
    const newest = [...versions].reverse();
    say(at('versions-note'), count(versions.length));
    at('versions').classList.toggle('few', versions.length <= FEW);
    replaceRows(at('versions-list'), newest.slice(0, this.most)
      .map(({version}) => this.row(version, serving, shown, rows.get(version))));
    show(at('versions-more'), newest.length > this.most);
    say(at('versions-more'), `More (${count(newest.length - this.most)})`);
  }

  row(version, serving, shown, bin) {
    const served = version === serving.version;
    const name = button(`v${count(version)}`, `show-${version}`, () => this.act.show(version), {
      class: 'link', 'aria-pressed': String(version === shown),
      'aria-label': `Show the policy of version ${version}`,
    });
    const tag = served ? 'served' : version === serving.newest ? 'newest' : '';
    return make('tr', {class: version === shown ? 'chosen' : null},
      make('th', {scope: 'row'}, name, ' ', ...(tag ? [make('span', {class: `badge ${tag}`}, tag)] : [])),
      make('td', {class: 'number'}, bin ? `${count(bin.returned)} of ${count(bin.opened)}` : NONE),
      make('td', {class: 'buttons'}, ...this.buttons(version, serving.version)));
  }

  buttons(version, served) {
    const made = [];
    if (version > 1) {
      made.push(button('Diff', `compare-${version}`, () => this.act.compare(version - 1, version), {
        'aria-label': `What changed from version ${version - 1} to ${version}`,
      }));
    }
    if (version !== served) {
      const older = version < served;
      made.push(button(older ? 'Roll back' : 'Serve', `serve-${version}`, () => this.act.rollBack(version), {
        'aria-label': `${older ? 'Roll back to' : 'Serve'} version ${version}`,
      }));
    }
    return made;
  }
}

// What each version brought, where the history still tells them apart.
function brought(history) {
  const bins = history?.versions.bins ?? [];
  return new Map(bins.filter(bin => bin.first === bin.last).map(bin => [bin.first, bin]));
}
