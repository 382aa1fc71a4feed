// The policy as a map with a row for each state and a column for each step. Only visible cells have
// elements, so the size of the policy does not matter.

const HEADER_HEIGHT_PX = 26;
const MAX_MAP_HEIGHT_PX = 470;
const MIN_CELL_WIDTH_PX = 24;
const MAX_CELL_WIDTH_PX = 140;
const EXTRA_ROWS = 4;

class PolicyMap {
  constructor() {
    this.view = byId('map');
    this.inner = element('div', {class: 'map-inner', role: 'presentation'});
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
    this.view.addEventListener('pointerover', event => this.showReadout(event.target));
    this.view.addEventListener('pointerleave', () => this.showReadout(null));
    this.view.addEventListener('click', event => this.selectCell(event.target));
    byId('policy-find').addEventListener('input', () => this.filter());
    new ResizeObserver(() => this.layOut()).observe(this.view.parentElement);
  }

  show(spec, policy) {
    if (this.policy === policy) return;
    if (this.spec !== spec) {
      this.spec = spec;
      this.palette = new Palette(spec.actions);
      [this.active, this.legend.selected] = [null, null];
      byId('policy-find').value = '';
      this.shownStates = spec.states.map((_, i) => i);
      this.view.scrollTo(0, 0);
    }
    this.policy = policy;
    this.showLegend();
    setVisible(byId('policy-find'), spec.states.length > 20);
    setVisible(byId('policy-note'), policy.epsilon > 0);
    setText(byId('policy-note'), `With probability ${formatNumber(policy.epsilon)} `
      + 'a random action is taken instead.');
    this.layOut();
  }

  // Returns the actions in a state; several if one of them is drawn at random, none if it is terminal.
  actionsAt(state, step) {
    const [name, drawn] = [this.spec.states[state], this.policy.explore[step]];
    // `in` would find a state called "constructor"
    if (Object.hasOwn(drawn, name)) return drawn[name];
    const action = this.policy.plan[step][name];
    return action === null ? [] : [action];
  }

  // Returns the actions that are not allowed in a state.
  forbiddenAt(state, step) {
    const [name, allowed] = [this.spec.states[state], this.policy.allowed?.[step] ?? {}];
    return Object.hasOwn(allowed, name)
      ? this.spec.actions.filter(action => !allowed[name].includes(action)) : [];
  }

  describe(state, step) {
    const [actions, forbidden] = [this.actionsAt(state, step), this.forbiddenAt(state, step)];
    let text = actions.length ? actions[0] : 'terminal, the episode has ended';
    if (actions.length > 1) text = `${joinWithOr(actions)}, drawn with equal probabilities`;
    const not = forbidden.length ? `; not allowed: ${forbidden.join(', ')}` : '';
    return `${this.spec.states[state]}, step ${step}: ${text}${not}`;
  }

  showLegend() {
    this.legend.show(this.palette, this.policy, !this.namesFit);
  }

  filter() {
    const text = byId('policy-find').value.toLowerCase();
    this.shownStates = this.spec.states.map((_, i) => i)
      .filter(i => this.spec.states[i].toLowerCase().includes(text));
    this.active = null;
    this.view.scrollTop = 0;
    this.layOut();
  }

  layOut() {
    if (!this.policy) return;
    const total = this.view.parentElement.clientWidth;
    if (!total) return;
    const {states, actions, horizon} = this.spec;
    this.height = states.length > 12 ? 24 : 34;
    const height = HEADER_HEIGHT_PX + this.shownStates.length * this.height;
    const overview = height > MAX_MAP_HEIGHT_PX;
    const room = total - (overview ? this.overview.space(horizon) : 0) - 2;
    const longest = names => Math.max(...names.map(name => name.length));
    this.label = Math.max(92, Math.min(longest(states) * 7.2 + 22, 190, room * 0.36));
    const equalWidth = Math.floor((room - this.label - (overview ? 16 : 0)) / horizon);
    this.width = Math.max(MIN_CELL_WIDTH_PX, Math.min(MAX_CELL_WIDTH_PX, equalWidth));
    const namesFit = longest(actions) * 7.2 + 12 <= this.width;
    if (namesFit !== this.namesFit) {
      this.namesFit = namesFit;
      this.showLegend();
    }
    this.inner.style.width = `${this.label + horizon * this.width}px`;
    this.inner.style.height = `${height}px`;
    this.view.style.height = `${Math.min(height, MAX_MAP_HEIGHT_PX) + 2}px`;
    this.view.setAttribute('aria-rowcount', this.shownStates.length + 1);
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
    this.showReadout(null);
  }

  paintSoon() {
    if (this.paintScheduled) return;
    this.paintScheduled = true;
    requestAnimationFrame(() => {
      this.paintScheduled = false;
      this.paint();
    });
  }

  paint() {
    const {scrollTop, scrollLeft, clientHeight, clientWidth} = this.view;
    const {horizon} = this.spec;
    const from = Math.max(0, Math.floor(scrollLeft / this.width) - 1);
    const to = Math.min(horizon, Math.ceil((scrollLeft + clientWidth - this.label) / this.width) + 1);
    const top = Math.max(0, Math.floor(scrollTop / this.height) - EXTRA_ROWS);
    const below = Math.ceil((scrollTop + clientHeight) / this.height) + EXTRA_ROWS;
    const end = Math.min(this.shownStates.length, below);
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
    this.markActive();
    this.overview.updateWindow();
  }

  headRow(from, to) {
    const row = element('div', {class: 'map-head', role: 'row', 'aria-rowindex': '1'});
    const corner = element('div', {class: 'map-corner', role: 'columnheader'}, 'state / step');
    corner.style.width = `${this.label}px`;
    row.append(corner);
    for (let step = from; step < to; step++) {
      const attributes = {class: 'map-step', role: 'columnheader', 'aria-colindex': step + 2};
      const head = element('div', attributes, String(step));
      this.place(head, step);
      row.append(head);
    }
    return row;
  }

  row(i, from, to) {
    const state = this.shownStates[i];
    const name = this.spec.states[state];
    const row = element('div', {class: 'map-row', role: 'row', 'aria-rowindex': i + 2});
    row.style.top = `${HEADER_HEIGHT_PX + i * this.height}px`;
    row.style.height = `${this.height}px`;
    const head = element('div', {class: 'map-state', role: 'rowheader', title: name}, name);
    head.style.width = `${this.label}px`;
    head.style.lineHeight = row.style.height;
    row.append(head);
    for (let step = from; step < to; step++) row.append(this.cell(state, step));
    return row;
  }

  cell(state, step) {
    const actions = this.actionsAt(state, step);
    const label = this.describe(state, step);
    const indices = actions.map(name => this.palette.index.get(name));
    const named = this.namesFit ? actions[0] : this.palette.keys[indices[0]];
    const text = actions.length === 1 ? named : actions.length ? '' : '–';
    const cell = element('div', {
      class: 'map-cell', role: 'gridcell', id: `cell-${state}-${step}`, title: label,
      'aria-label': label, 'aria-colindex': step + 2, 'data-state': state, 'data-step': step,
    }, text);
    this.place(cell, step);
    if (actions.length) {
      cell.style.background = this.fill(indices);
      cell.style.color = this.palette.textColour(indices[0]);
    }
    cell.classList.toggle('terminal', actions.length === 0);
    cell.classList.toggle('restricted', this.forbiddenAt(state, step).length > 0);
    cell.classList.toggle('drawn', actions.length > 1);
    cell.classList.toggle('dim', this.legend.dims(indices));
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

  showReadout(target) {
    const cell = target?.closest?.('.map-cell');
    let text = this.shownStates.length ? 'Select a cell to show its action.' : 'No state matches.';
    if (cell) text = this.describe(+cell.dataset.state, +cell.dataset.step);
    else if (this.active) text = this.describe(this.shownStates[this.active.row], this.active.step);
    setText(byId('readout'), text);
  }

  selectCell(target) {
    const cell = target.closest('.map-cell');
    if (cell) this.goTo(this.shownStates.indexOf(+cell.dataset.state), +cell.dataset.step);
  }

  move(event) {
    const page = Math.floor(MAX_MAP_HEIGHT_PX / this.height) - 2;
    const [down, right] = {
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
      PageUp: [-page, 0], PageDown: [page, 0], Home: [0, -1e9], End: [0, 1e9],
    }[event.key] ?? [0, 0];
    if (!down && !right) return;
    event.preventDefault();
    if (!this.shownStates.length) return;
    const {row, step} = this.active ?? {row: 0, step: 0};
    if (this.active) this.goTo(row + down, step + right);
    else this.goTo(row, step);
  }

  goTo(row, step) {
    const within = (value, size) => Math.max(0, Math.min(size - 1, value));
    this.active = {row: within(row, this.shownStates.length), step: within(step, this.spec.horizon)};
    const {view} = this;
    const [top, left] = [this.active.row * this.height, this.active.step * this.width];
    const [bottom, right] = [top + this.height + HEADER_HEIGHT_PX, left + this.width + this.label];
    view.scrollTop = Math.max(Math.min(view.scrollTop, top), bottom - view.clientHeight);
    view.scrollLeft = Math.max(Math.min(view.scrollLeft, left), right - view.clientWidth);
    this.paint();
    this.showReadout(null);
  }

  markActive() {
    this.inner.querySelector('.active')?.classList.remove('active');
    if (!this.active) return this.view.removeAttribute('aria-activedescendant');
    const id = `cell-${this.shownStates[this.active.row]}-${this.active.step}`;
    byId(id)?.classList.add('active');
    return this.view.setAttribute('aria-activedescendant', id);
  }
}
