// Charts: a frame with axes, layers in it, and a pointer that reads values out.

const LEFT = 54;
const RIGHT = 14;
const TOP = 10;
const BOTTOM = 24;

// A chart is told what to show, and draws it again only when that or its room has changed. `spec`
// makes, of a width, {label, x, y, layers, points}: a scale is {low, high, ticks, log}, a layer is a
// function of the two scales and the room, a point is {x, lines} for the pointer.
class Chart {
  constructor(place) {
    this.place = place;
    this.picture = shape('svg', {role: 'img', tabindex: '0'});
    this.tip = make('div', {class: 'tip', role: 'status'});
    this.tip.hidden = true;
    place.append(this.picture, this.tip);
    this.picture.addEventListener('pointermove', event => this.point(event.offsetX));
    this.picture.addEventListener('pointerdown', event => this.point(event.offsetX));
    this.picture.addEventListener('pointerleave', () => this.point(null));
    this.picture.addEventListener('blur', () => this.point(null));
    this.picture.addEventListener('keydown', event => this.step(event));
    new ResizeObserver(() => this.draw()).observe(place);
  }

  show(key, spec) {
    if (this.key === key) return;
    this.key = key;
    this.spec = spec;
    this.draw();
  }

  draw() {
    const {clientWidth: width, clientHeight: height} = this.place;
    if (!this.spec || width < 80) return;
    const {label, x, y, layers, points} = this.spec(width);
    const across = linear(x.low, x.high, LEFT, width - RIGHT);
    const up = (y.log ? logarithmic : linear)(y.low, y.high, height - BOTTOM, TOP);
    this.points = points.map(point => ({...point, at: across(point.x)}));
    this.cursor = shape('line', {class: 'cursor', y1: TOP, y2: height - BOTTOM, x1: -9, x2: -9});
    this.picture.setAttribute('width', width);
    this.picture.setAttribute('height', height);
    describe(this.picture, label);
    this.picture.replaceChildren(
      axes(x, y, across, up, width, height),
      ...layers.map(layer => layer(across, up, {width, height})),
      this.cursor,
    );
    if (known(this.pointed)) this.point(this.pointed);
  }

  point(pixel) {
    this.pointed = pixel;
    const far = one => Math.abs(one.at - pixel);
    const nearest = known(pixel) && this.points?.length
      ? this.points.reduce((best, one) => far(one) < far(best) ? one : best) : null;
    show(this.tip, nearest !== null);
    this.cursor?.setAttribute('x1', nearest ? nearest.at : -9);
    this.cursor?.setAttribute('x2', nearest ? nearest.at : -9);
    if (!nearest) return;
    this.tip.replaceChildren(...nearest.lines.map(line => make('div', {}, line)));
    const room = this.place.clientWidth - this.tip.offsetWidth - 4;
    const right = nearest.at + 12;
    const left = right > room ? nearest.at - 12 - this.tip.offsetWidth : right;
    this.tip.style.left = `${Math.max(4, Math.min(left, room))}px`;
  }

  step(event) {
    const way = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!way || !this.points?.length) return;
    event.preventDefault();
    const last = this.points.length - 1;
    const found = this.points.findIndex(one => one.at >= this.pointed - 0.5);
    const here = !known(this.pointed) ? last + 1 : found < 0 ? last : found;
    const next = Math.max(0, Math.min(last, here + way));
    this.point(this.points[next].at);
  }
}

function axes(x, y, across, up, width, height) {
  const group = shape('g', {class: 'axes'});
  const base = height - BOTTOM;
  for (const {at: value, text} of y.ticks) {
    const level = up(value);
    group.append(
      shape('line', {x1: LEFT, x2: width - RIGHT, y1: level, y2: level}),
      shape('text', {x: LEFT - 8, y: level + 4, 'text-anchor': 'end'}, text),
    );
  }
  for (const {at: value, text} of x.ticks) {
    const place = across(value);
    const half = text.length * 3.1;
    const anchor = place - half < LEFT - 30 ? 'start' : place + half > width ? 'end' : 'middle';
    group.append(
      shape('line', {class: 'tick', x1: place, x2: place, y1: base, y2: base + 4}),
      shape('text', {x: anchor === 'end' ? width : place, y: height - 6, 'text-anchor': anchor}, text),
    );
  }
  group.append(shape('line', {class: 'base', x1: LEFT, x2: width - RIGHT, y1: base, y2: base}));
  return group;
}

function pathOf(points) {
  return points.map(([x, y], i) => `${i ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');
}

// A step for each bin {from, to, value}.
function steps(bins, kind, fill) {
  return (across, up) => {
    const points = bins.flatMap(({from, to, value}) =>
      [[across(from), up(value)], [across(to), up(value)]]);
    const group = shape('g', {class: kind});
    if (fill && points.length) {
      const base = up(0);
      const area = [[points[0][0], base], ...points, [points[points.length - 1][0], base]];
      group.append(shape('path', {class: 'area', d: pathOf(area)}));
    }
    group.append(shape('path', {class: 'line', d: pathOf(points)}));
    return group;
  };
}

// A line through points {x, y}; it breaks where y is null, and a point alone is a dot.
function line(points, kind) {
  return (across, up) => {
    const group = shape('g', {class: kind});
    let run = [];
    for (const point of [...points, {y: null}]) {
      if (known(point.y)) {
        run.push([across(point.x), up(point.y)]);
      } else if (run.length) {
        group.append(run.length > 1
          ? shape('path', {class: 'line', d: pathOf(run)})
          : shape('circle', {class: 'dot', cx: run[0][0], cy: run[0][1], r: 2}));
        run = [];
      }
    }
    return group;
  };
}

// Points {x, y, error}, with a bar of that length up and down.
function whiskers(points, kind) {
  return (across, up) => {
    const group = shape('g', {class: kind});
    const radius = points.length > 60 ? 2 : 3.5;
    for (const {x, y, error, marked} of points) {
      const place = across(x);
      if (known(error)) {
        const [y1, y2] = [up(y - error), up(y + error)];
        group.append(shape('line', {class: 'whisker', x1: place, x2: place, y1, y2}));
      }
      const look = marked ? {class: 'dot marked', r: radius + 1.5} : {class: 'dot', r: radius};
      group.append(shape('circle', {...look, cx: place, cy: up(y)}));
    }
    return group;
  };
}

// A line up, with its name.
function flag(x, text, kind) {
  return (across, up, {width, height}) => {
    const place = across(x);
    const beside = place > width / 2
      ? {x: place - 6, 'text-anchor': 'end'} : {x: place + 6, 'text-anchor': 'start'};
    return shape('g', {class: kind},
      shape('line', {x1: place, x2: place, y1: TOP, y2: height - BOTTOM}),
      shape('text', {...beside, y: TOP + 8}, text));
  };
}
