// The whole map at a glance, a pixel for each cell, beside a map too tall to be seen at once.

const MOST_ROWS = 4096;

class Overview {
  constructor(map) {
    this.map = map;
    this.place = at('overview');
    this.canvas = at('overview-canvas');
    this.place.addEventListener('pointerdown', event => this.jump(event));
    this.place.addEventListener('pointermove', event => event.buttons && this.jump(event));
  }

  // How much room it takes beside the map.
  space(horizon) {
    return this.wide(horizon) + 10;
  }

  wide(horizon) {
    return Math.max(28, Math.min(72, 3 * horizon));
  }

  fit(on) {
    show(this.place, on);
    this.place.style.width = `${this.wide(this.map.spec.horizon)}px`;
  }

  paint() {
    if (this.place.hidden) return;
    const {map} = this;
    const rows = Math.min(map.found.length, MOST_ROWS);
    const {horizon} = map.spec;
    [this.canvas.width, this.canvas.height] = [horizon, rows];
    const context = this.canvas.getContext('2d');
    const image = context.createImageData(horizon, rows);
    for (let y = 0; y < rows; y++) {
      const state = map.found[Math.floor(y * map.found.length / rows)];
      for (let step = 0; step < horizon; step++) {
        const actions = map.played(state, step).map(name => map.palette.index.get(name));
        const seen = map.legend.hides(actions) ? 40 : 255;
        image.data.set([...map.palette.rgb(actions[0]), seen], 4 * (y * horizon + step));
      }
    }
    context.putImageData(image, 0, 0);
  }

  follow() {
    if (this.place.hidden) return;
    const {scrollTop, clientHeight, scrollHeight} = this.map.view;
    const sight = at('overview-window').style;
    sight.top = `${100 * scrollTop / scrollHeight}%`;
    sight.height = `${100 * clientHeight / scrollHeight}%`;
  }

  jump(event) {
    const {top, height} = this.place.getBoundingClientRect();
    const {view} = this.map;
    view.scrollTop = (event.clientY - top) / height * view.scrollHeight - view.clientHeight / 2;
    event.preventDefault();
  }
}
