// Charts of arrivals and delays over time, and of returns by version.

// Ratio of the longest to the shortest delay above which the scale is logarithmic.
const LOG_SCALE_MIN_RATIO = 40;

class HistoryCharts {
  constructor() {
    this.arrivals = new Chart(byId('arrivals'));
    this.delays = new Chart(byId('delays'));
    this.returns = new Chart(byId('returns-chart'));
    this.axis = 'times';
    byId('times-axis').addEventListener('change', event => {
      this.axis = event.target.value;
      if (this.history) this.showTimes(this.history[this.axis]);
    });
  }

  show(history, served) {
    this.history = history?.times.bins.length ? history : null;
    setVisible(byId('times'), this.history !== null);
    if (this.history) this.showTimes(history[this.axis]);
    const versions = (history?.versions.bins ?? []).filter(bin => isKnown(bin.mean_return));
    setVisible(byId('returns'), versions.length > 0);
    if (versions.length) this.showReturns(versions, history.versions.width, served);
  }

  showTimes(times) {
    const key = JSON.stringify(times);
    const bins = times.bins.map(bin => {
      const from = Date.parse(bin.start);
      const span = 1000 * times.width;
      return {...bin, from, to: from + span, name: formatMoment(from, span)};
    });
    const [first, last] = [bins[0].from, bins[bins.length - 1].to];
    setText(byId('times-note'), `since ${formatDate(first)}, bins of ${formatDuration(times.width)}${outsideText(times.outside)}`);
    const x = width => ({low: first, high: last, ticks: timeTicks(first, last, width / 110)});
    this.arrivals.show(key, width => arrivalsChart(bins, x(width)));
    this.delays.show(key, width => delaysChart(bins, x(width)));
    setText(byId('delays-note'), delayRange(bins).log ? 'log scale' : '');
  }

  showReturns(bins, width, served) {
    const all = bins[bins.length - 1];
    setText(byId('returns-note'), width > 1 ? `${formatCount(width)} versions per bin` : '');
    this.returns.show(JSON.stringify([bins, served]), room => returnsChart(bins, all.last, served, room));
  }
}

// Episodes whose times are far from all others, such as those of a wrong clock.
function outsideText(outside) {
  if (!outside) return '';
  return `; not shown, at other times: ${formatCount(outside.opened)} opened, ${formatCount(outside.returned)} returned`;
}

function arrivalsChart(bins, x) {
  const most = Math.max(1, ...bins.map(bin => Math.max(bin.opened, bin.returned)));
  const [opened, returned] = ['opened', 'returned'].map(kind =>
    bins.map(({from, to, [kind]: value}) => ({from, to, value})));
  const last = bins[bins.length - 1];
  return {
    label: 'Episodes over time. '
      + `In the last bin ${formatCount(last.opened)} were opened and ${formatCount(last.returned)} returned.`,
    x,
    y: {low: 0, high: most, ticks: wholeTicks(0, most, 4)},
    layers: [stepLayer(opened, 'opened', true), stepLayer(returned, 'returned', false)],
    points: bins.map(bin => ({
      x: (bin.from + bin.to) / 2,
      lines: [bin.name, `${formatCount(bin.opened)} opened`, `${formatCount(bin.returned)} returned`],
    })),
  };
}

function delayRange(bins) {
  const values = bins.flatMap(bin => [bin.delay, bin.longest]).filter(value => value > 0);
  const high = Math.max(...values, 0.001);
  const low = Math.max(Math.min(...values, high), 0.001);
  const log = high / low > LOG_SCALE_MIN_RATIO;
  return log ? {low: low / 1.2, high: high * 1.2, log} : {low: 0, high, log};
}

function delaysChart(bins, x) {
  const {low, high, log} = delayRange(bins);
  const back = bins.filter(bin => isKnown(bin.delay));
  const [mean, longest] = ['delay', 'longest'].map(kind =>
    bins.map(bin => ({x: (bin.from + bin.to) / 2, y: bin[kind]})));
  const last = back[back.length - 1];
  return {
    label: last
      ? 'Delays over time. In the last bin with returns '
        + `the mean is ${formatDuration(last.delay)} and the longest ${formatDuration(last.longest)}.`
      : 'Delays over time. No episode has returned yet.',
    x,
    y: {low, high, log, ticks: log ? logDurationTicks(low, high) : durationTicks(low, high, 4)},
    layers: [lineLayer(longest, 'longest'), lineLayer(mean, 'mean')],
    points: back.map(bin => ({
      x: (bin.from + bin.to) / 2,
      lines: [
        bin.name, `mean ${formatDuration(bin.delay)}`, `longest ${formatDuration(bin.longest)}`,
        ...(isKnown(bin.episodes) ? [`mean ${formatNumber(bin.episodes)} episodes`] : []),
      ],
    })),
  };
}

function returnsChart(bins, newest, served, width) {
  const points = bins.map(bin => ({
    x: (bin.first + bin.last) / 2,
    y: bin.mean_return,
    error: bin.error,
    marked: bin.first <= served && served <= bin.last,
  }));
  const tops = points.flatMap(({y, error}) => [y - (error ?? 0), y + (error ?? 0)]);
  const [lowest, highest] = [Math.min(...tops), Math.max(...tops)];
  const room = (highest - lowest) * 0.12 || Math.max(0.1, Math.abs(highest) * 0.1);
  const [low, high] = [lowest - room, highest + room];
  const [first, last] = [0.5, Math.max(newest, served) + 0.5];
  const marked = points.find(point => point.marked);
  return {
    label: `Mean return by version. Version ${formatCount(served)} is served`
      + (marked ? `; its mean return so far is ${formatNumber(marked.y)}.` : '; it has no complete feedback yet.'),
    x: {low: first, high: last, ticks: wholeTicks(1, last, Math.min(width / 60, 12))},
    y: {low, high, ticks: numberTicks(low, high, 4)},
    layers: [
      markerLayer(served, `served: ${formatCount(served)}`, 'served'), errorBarLayer(points, 'version'),
    ],
    points: bins.map((bin, i) => ({x: points[i].x, lines: returnLines(bin)})),
  };
}

function returnLines(bin) {
  return [
    bin.first === bin.last
      ? `version ${formatCount(bin.first)}` : `versions ${formatCount(bin.first)} – ${formatCount(bin.last)}`,
    `mean ${formatNumber(bin.mean_return)}${isKnown(bin.error) ? ` ± ${formatNumber(bin.error)}` : ''}`,
    `${formatCount(bin.returned)} of ${formatCount(bin.opened)} complete`,
  ];
}
