// The policy as a map: a row for each state, a column for each step. Only what is in sight has
// elements, so that 100 000 cells are as quick as ten.

const HEAD = 26;
const TALLEST = 470;
const NARROWEST = 24;
const WIDEST = 140;
const MARGIN = 4;

class PolicyMap {
  constructor() {
    this.view = at('map');
    this.inner = make('div', {class: 'map-inner', role: 'presentation'});
    this.view.append(this.inner);
    this.rows = new Map();
    this.active = null;
    this.legend = new Legend(() => {
      this.showLegend();
      this.repaint();
    });
    this.overview = new Overview(this);
    this.view.addEventListener('scroll', () => this.paintSoon(), {passive: true});
    this.view.addEventListener('keydown', event => this.move(event));
    this.view.addEventListener('pointerover', event => this.read(event.target));
    this.view.addEventListener('pointerleave', () => this.read(null));
    this.view.addEventListener('click', event => this.choose(event.target));
    at('policy-find').addEventListener('input', () => this.find());
    new ResizeObserver(() => this.layOut()).observe(this.view.parentElement);
  }

  show(spec, plan) {
    if (this.plan === plan) return;
    if (this.spec !== spec) {
      this.spec = spec;
      this.palette = new Palette(spec.actions);
      [this.active, this.legend.alone] = [null, null];
      at('policy-find').value = '';
      this.found = spec.states.map((_, i) => i);
      this.view.scrollTo(0, 0);
    }
    this.plan = plan;
    this.showLegend();
    show(at('policy-find'), spec.states.length > 20);
    show(at('policy-note'), plan.epsilon > 0);
    say(at('policy-note'), `With probability ${figure(plan.epsilon)} `
      + 'any of the actions is played instead, each as likely.');
    this.layOut();
  }

  // The actions of which one is played.
  played(state, step) {
    const [name, drawn] = [this.spec.states[state], this.plan.explore[step]];
    // a state may be called "constructor"
    return Object.hasOwn(drawn, name) ? drawn[name] : [this.plan.plan[step][name]];
  }

  describe(state, step) {
    const actions = this.played(state, step);
    const what = actions.length > 1 ? `${either(actions)}, drawn with equal chances` : actions[0];
    return `${this.spec.states[state]}, step ${step}: ${what}`;
  }

  showLegend() {
    this.legend.show(this.palette, this.plan, !this.wide);
  }

  find() {
    const text = at('policy-find').value.toLowerCase();
    this.found = this.spec.states.map((_, i) => i)
      .filter(i => this.spec.states[i].toLowerCase().includes(text));
    this.active = null;
    this.view.scrollTop = 0;
    this.layOut();
  }

  layOut() {
    if (!this.plan) return;
    const total = this.view.parentElement.clientWidth;
    if (!total) return;
    const {states, actions, horizon} = this.spec;
    this.height = states.length > 12 ? 24 : 34;
    const tall = HEAD + this.found.length * this.height;
    const overview = tall > TALLEST;
    const room = total - (overview ? this.overview.space(horizon) : 0) - 2;
    const longest = names => Math.max(...names.map(name => name.length));
    this.label = Math.max(92, Math.min(longest(states) * 7.2 + 22, 190, room * 0.36));
    const even = Math.floor((room - this.label - (overview ? 16 : 0)) / horizon);
    this.width = Math.max(NARROWEST, Math.min(WIDEST, even));
    const wide = longest(actions) * 7.2 + 12 <= this.width;
    if (wide !== this.wide) {
      this.wide = wide;
      this.showLegend();
    }
    this.inner.style.width = `${this.label + horizon * this.width}px`;
    this.inner.style.height = `${tall}px`;
    this.view.style.height = `${Math.min(tall, TALLEST) + 2}px`;
    this.view.setAttribute('aria-rowcount', this.found.length + 1);
    this.view.setAttribute('aria-colcount', horizon + 1);
    this.overview.fit(overview);
    this.repaint();
  }

  repaint() {
    this.inner.replaceChildren();
    this.rows.clear();
    this.columns = '';
    this.paint();
    this.overview.paint();
    this.read(null);
  }

  paintSoon() {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => {
      this.waits = false;
      this.paint();
    });
  }

  paint() {
    const {scrollTop, scrollLeft, clientHeight, clientWidth} = this.view;
    const {horizon} = this.spec;
    const from = Math.max(0, Math.floor(scrollLeft / this.width) - 1);
    const to = Math.min(horizon, Math.ceil((scrollLeft + clientWidth - this.label) / this.width) + 1);
    const top = Math.max(0, Math.floor(scrollTop / this.height) - MARGIN);
    const below = Math.ceil((scrollTop + clientHeight) / this.height) + MARGIN;
    const end = Math.min(this.found.length, below);
    if (this.columns !== `${from}-${to}`) {
      this.columns = `${from}-${to}`;
      this.inner.replaceChildren(this.headRow(from, to));
      this.rows.clear();
    }
    for (const [i, row] of this.rows) {
      if (i >= top && i < end) continue;
      row.remove();
      this.rows.delete(i);
    }
    for (let i = top; i < end; i++) {
      if (this.rows.has(i)) continue;
      const row = this.row(i, from, to);
      this.rows.set(i, row);
      this.inner.append(row);
    }
    this.mark();
    this.overview.follow();
  }

  headRow(from, to) {
    const row = make('div', {class: 'map-head', role: 'row', 'aria-rowindex': '1'});
    const corner = make('div', {class: 'map-corner', role: 'columnheader'}, 'state / step');
    corner.style.width = `${this.label}px`;
    row.append(corner);
    for (let step = from; step < to; step++) {
      const what = {class: 'map-step', role: 'columnheader', 'aria-colindex': step + 2};
      const head = make('div', what, String(step));
      this.place(head, step);
      row.append(head);
    }
    return row;
  }

  row(i, from, to) {
    const state = this.found[i];
    const name = this.spec.states[state];
    const row = make('div', {class: 'map-row', role: 'row', 'aria-rowindex': i + 2});
    row.style.top = `${HEAD + i * this.height}px`;
    row.style.height = `${this.height}px`;
    const head = make('div', {class: 'map-state', role: 'rowheader', title: name}, name);
    head.style.width = `${this.label}px`;
    head.style.lineHeight = row.style.height;
    row.append(head);
    for (let step = from; step < to; step++) row.append(this.cell(state, step));
    return row;
  }

  cell(state, step) {
    const actions = this.played(state, step);
    const said = this.describe(state, step);
    const indices = actions.map(name => this.palette.index.get(name));
    const text = actions.length > 1 ? '' : this.wide ? actions[0] : this.palette.keys[indices[0]];
    const cell = make('div', {
      class: 'map-cell', role: 'gridcell', id: `cell-${state}-${step}`, title: said,
      'aria-label': said, 'aria-colindex': step + 2, 'data-state': state, 'data-step': step,
    }, text);
    this.place(cell, step);
    cell.style.background = this.fill(indices);
    cell.style.color = this.palette.ink(indices[0]);
    cell.classList.toggle('drawn', actions.length > 1);
    cell.classList.toggle('dim', this.legend.hides(indices));
    return cell;
  }

  fill(indices) {
    const parts = indices.map((action, i) => {
      const [from, to] = [i, i + 1].map(edge => `${100 * edge / indices.length}%`);
      return `${this.palette.colour(action)} ${from} ${to}`;
    });
    return parts.length > 1
      ? `linear-gradient(115deg, ${parts.join(', ')})` : this.palette.colour(indices[0]);
  }

  place(node, step) {
    node.style.left = `${this.label + step * this.width}px`;
    node.style.width = `${this.width}px`;
  }

  read(target) {
    const cell = target?.closest?.('.map-cell');
    let text = this.found.length ? 'Choose a cell to read it.' : 'No state has such a name.';
    if (cell) text = this.describe(+cell.dataset.state, +cell.dataset.step);
    else if (this.active) text = this.describe(this.found[this.active.row], this.active.step);
    say(at('readout'), text);
  }

  choose(target) {
    const cell = target.closest('.map-cell');
    if (cell) this.goTo(this.found.indexOf(+cell.dataset.state), +cell.dataset.step);
  }

  move(event) {
    const page = Math.floor(TALLEST / this.height) - 2;
    const [down, right] = {
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
      PageUp: [-page, 0], PageDown: [page, 0], Home: [0, -1e9], End: [0, 1e9],
    }[event.key] ?? [0, 0];
    if (!down && !right) return;
    event.preventDefault();
    if (!this.found.length) return;
    const {row, step} = this.active ?? {row: 0, step: 0};
    if (this.active) this.goTo(row + down, step + right);
    else this.goTo(row, step);
  }

  goTo(row, step) {
    const within = (value, size) => Math.max(0, Math.min(size - 1, value));
    this.active = {row: within(row, this.found.length), step: within(step, this.spec.horizon)};
    const {view} = this;
    const [top, left] = [this.active.row * this.height, this.active.step * this.width];
    const [bottom, right] = [top + this.height + HEAD, left + this.width + this.label];
    view.scrollTop = Math.max(Math.min(view.scrollTop, top), bottom - view.clientHeight);
    view.scrollLeft = Math.max(Math.min(view.scrollLeft, left), right - view.clientWidth);
    this.paint();
    this.read(null);
  }

  mark() {
    this.inner.querySelector('.active')?.classList.remove('active');
    if (!this.active) return this.view.removeAttribute('aria-activedescendant');
    const id = `cell-${this.found[this.active.row]}-${this.active.step}`;
    at(id)?.classList.add('active');
    return this.view.setAttribute('aria-activedescendant', id);
  }
}
