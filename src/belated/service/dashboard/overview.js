// Overview of a map that needs scrolling, with one pixel for each cell.

const MAX_OVERVIEW_ROWS = 4096;

class Overview {
  constructor(map) {
    this.map = map;
    this.place = byId('overview');
    this.canvas = byId('overview-canvas');
    this.place.addEventListener('pointerdown', event => this.jump(event));
    this.place.addEventListener('pointermove', event => event.buttons && this.jump(event));
  }

  // Width that the overview takes beside the map.
  space(horizon) {
    return this.widthFor(horizon) + 10;
  }

  widthFor(horizon) {
    return Math.max(28, Math.min(72, 3 * horizon));
  }

  fit(on) {
    setVisible(this.place, on);
    this.place.style.width = `${this.widthFor(this.map.spec.horizon)}px`;
  }

  paint() {
    if (this.place.hidden) return;
    const {map} = this;
    const rows = Math.min(map.shownStates.length, MAX_OVERVIEW_ROWS);
    const {horizon} = map.spec;
    [this.canvas.width, this.canvas.height] = [horizon, rows];
    const context = this.canvas.getContext('2d');
    const image = context.createImageData(horizon, rows);
    for (let y = 0; y < rows; y++) {
      const state = map.shownStates[Math.floor(y * map.shownStates.length / rows)];
      for (let step = 0; step < horizon; step++) {
        const actions = map.actionsAt(state, step).map(name => map.palette.index.get(name));
        const alpha = map.legend.dims(actions) ? 40 : 255;
        const colour = actions.length ? map.palette.rgb(actions[0]) : [128, 128, 128];
        image.data.set([...colour, actions.length ? alpha : 40], 4 * (y * horizon + step));
      }
    }
    context.putImageData(image, 0, 0);
  }

  updateWindow() {
    if (this.place.hidden) return;
    const {scrollTop, clientHeight, scrollHeight} = this.map.view;
    const windowStyle = byId('overview-window').style;
    windowStyle.top = `${100 * scrollTop / scrollHeight}%`;
    windowStyle.height = `${100 * clientHeight / scrollHeight}%`;
  }

  jump(event) {
    const {top, height} = this.place.getBoundingClientRect();
    const {view} = this.map;
    view.scrollTop = (event.clientY - top) / height * view.scrollHeight - view.clientHeight / 2;
    event.preventDefault();
  }
}
