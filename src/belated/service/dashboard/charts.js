// Charts: axes, layers, and a tooltip.

const MARGIN_LEFT_PX = 54;
const MARGIN_RIGHT_PX = 14;
const MARGIN_TOP_PX = 10;
const MARGIN_BOTTOM_PX = 24;

// A chart is redrawn only if its key or its size changes. `spec` is a function of the width that
// returns {label, x, y, layers, points}: x and y are {low, high, ticks, log}, a layer is a function of
// the two scales and the size, and a point is {x, lines} for the tooltip.
class Chart {
  constructor(container) {
    this.container = container;
    this.svg = svgElement('svg', {role: 'img', tabindex: '0'});
    this.tooltip = element('div', {class: 'tip', role: 'status'});
    this.tooltip.hidden = true;
    container.append(this.svg, this.tooltip);
    this.svg.addEventListener('pointermove', event => this.showTooltip(event.offsetX));
    this.svg.addEventListener('pointerdown', event => this.showTooltip(event.offsetX));
    this.svg.addEventListener('pointerleave', () => this.showTooltip(null));
    this.svg.addEventListener('blur', () => this.showTooltip(null));
    this.svg.addEventListener('keydown', event => this.moveTooltip(event));
    new ResizeObserver(() => this.draw()).observe(container);
  }

  show(key, spec) {
    if (this.key === key) return;
    this.key = key;
    this.spec = spec;
    this.draw();
  }

  draw() {
    const {clientWidth: width, clientHeight: height} = this.container;
    if (!this.spec || width < 80) return;
    const {label, x, y, layers, points} = this.spec(width);
    const xScale = linearScale(x.low, x.high, MARGIN_LEFT_PX, width - MARGIN_RIGHT_PX);
    const makeScale = y.log ? logScale : linearScale;
    const yScale = makeScale(y.low, y.high, height - MARGIN_BOTTOM_PX, MARGIN_TOP_PX);
    this.points = points.map(point => ({...point, at: xScale(point.x)}));
    this.cursor = svgElement('line', {
      class: 'cursor', y1: MARGIN_TOP_PX, y2: height - MARGIN_BOTTOM_PX, x1: -9, x2: -9,
    });
    this.svg.setAttribute('width', width);
    this.svg.setAttribute('height', height);
    setAriaLabel(this.svg, label);
    this.svg.replaceChildren(
      drawAxes(x, y, xScale, yScale, width, height),
      ...layers.map(layer => layer(xScale, yScale, {width, height})),
      this.cursor,
    );
    if (isKnown(this.cursorX)) this.showTooltip(this.cursorX);
  }

  showTooltip(pixel) {
    this.cursorX = pixel;
    const distance = point => Math.abs(point.at - pixel);
    const nearest = isKnown(pixel) && this.points?.length
      ? this.points.reduce((best, point) => distance(point) < distance(best) ? point : best) : null;
    setVisible(this.tooltip, nearest !== null);
    this.cursor?.setAttribute('x1', nearest ? nearest.at : -9);
    this.cursor?.setAttribute('x2', nearest ? nearest.at : -9);
    if (!nearest) return;
    this.tooltip.replaceChildren(...nearest.lines.map(line => element('div', {}, line)));
    const room = this.container.clientWidth - this.tooltip.offsetWidth - 4;
    const right = nearest.at + 12;
    const left = right > room ? nearest.at - 12 - this.tooltip.offsetWidth : right;
    this.tooltip.style.left = `${Math.max(4, Math.min(left, room))}px`;
  }

  moveTooltip(event) {
    const direction = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!direction || !this.points?.length) return;
    event.preventDefault();
    const last = this.points.length - 1;
    const found = this.points.findIndex(point => point.at >= this.cursorX - 0.5);
    const here = !isKnown(this.cursorX) ? last + 1 : found < 0 ? last : found;
    const next = Math.max(0, Math.min(last, here + direction));
    this.showTooltip(this.points[next].at);
  }
}

function drawAxes(x, y, xScale, yScale, width, height) {
  const group = svgElement('g', {class: 'axes'});
  const base = height - MARGIN_BOTTOM_PX;
  for (const {at: value, text} of y.ticks) {
    const level = yScale(value);
    group.append(
      svgElement('line', {x1: MARGIN_LEFT_PX, x2: width - MARGIN_RIGHT_PX, y1: level, y2: level}),
      svgElement('text', {x: MARGIN_LEFT_PX - 8, y: level + 4, 'text-anchor': 'end'}, text),
    );
  }
  for (const {at: value, text} of x.ticks) {
    const position = xScale(value);
    const half = text.length * 3.1;
    const anchor = position - half < MARGIN_LEFT_PX - 30 ? 'start'
      : position + half > width ? 'end' : 'middle';
    group.append(
      svgElement('line', {class: 'tick', x1: position, x2: position, y1: base, y2: base + 4}),
      svgElement('text', {x: anchor === 'end' ? width : position, y: height - 6, 'text-anchor': anchor}, text),
    );
  }
  group.append(svgElement('line', {
    class: 'base', x1: MARGIN_LEFT_PX, x2: width - MARGIN_RIGHT_PX, y1: base, y2: base,
  }));
  return group;
}

function svgPath(points) {
  return points.map(([x, y], i) => `${i ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');
}

// A step line with one level for each bin {from, to, value}.
function stepLayer(bins, kind, fill) {
  return (xScale, yScale) => {
    const points = bins.flatMap(({from, to, value}) =>
      [[xScale(from), yScale(value)], [xScale(to), yScale(value)]]);
    const group = svgElement('g', {class: kind});
    if (fill && points.length) {
      const base = yScale(0);
      const area = [[points[0][0], base], ...points, [points[points.length - 1][0], base]];
      group.append(svgElement('path', {class: 'area', d: svgPath(area)}));
    }
    group.append(svgElement('path', {class: 'line', d: svgPath(points)}));
    return group;
  };
}

// A line through points {x, y}, interrupted where y is null. An isolated point becomes a dot.
function lineLayer(points, kind) {
  return (xScale, yScale) => {
    const group = svgElement('g', {class: kind});
    let run = [];
    for (const point of [...points, {y: null}]) {
      if (isKnown(point.y)) {
        run.push([xScale(point.x), yScale(point.y)]);
      } else if (run.length) {
        group.append(run.length > 1
          ? svgElement('path', {class: 'line', d: svgPath(run)})
          : svgElement('circle', {class: 'dot', cx: run[0][0], cy: run[0][1], r: 2}));
        run = [];
      }
    }
    return group;
  };
}

// Points {x, y, error} with error bars.
function errorBarLayer(points, kind) {
  return (xScale, yScale) => {
    const group = svgElement('g', {class: kind});
    const radius = points.length > 60 ? 2 : 3.5;
    for (const {x, y, error, marked} of points) {
      const position = xScale(x);
      if (isKnown(error)) {
        const [y1, y2] = [yScale(y - error), yScale(y + error)];
        group.append(svgElement('line', {class: 'whisker', x1: position, x2: position, y1, y2}));
      }
      const style = marked ? {class: 'dot marked', r: radius + 1.5} : {class: 'dot', r: radius};
      group.append(svgElement('circle', {...style, cx: position, cy: yScale(y)}));
    }
    return group;
  };
}

// A vertical line with a label.
function markerLayer(x, text, kind) {
  return (xScale, yScale, {width, height}) => {
    const position = xScale(x);
    const beside = position > width / 2
      ? {x: position - 6, 'text-anchor': 'end'} : {x: position + 6, 'text-anchor': 'start'};
    return svgElement('g', {class: kind},
      svgElement('line', {x1: position, x2: position, y1: MARGIN_TOP_PX, y2: height - MARGIN_BOTTOM_PX}),
      svgElement('text', {...beside, y: MARGIN_TOP_PX + 8}, text));
  };
}
