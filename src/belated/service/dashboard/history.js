// History: arrivals and delays over time, and what each version brought.

// From this ratio of the longest to the shortest on, a scale is logarithmic.
const LOG_FROM = 40;

class History {
  constructor() {
    this.arrivals = new Chart(at('arrivals'));
    this.delays = new Chart(at('delays'));
    this.returns = new Chart(at('returns-chart'));
  }

  show(history, served) {
    const bins = history?.times.bins ?? [];
    show(at('times'), bins.length > 0);
    if (bins.length) this.showTimes(history.times);
    const versions = (history?.versions.bins ?? []).filter(bin => known(bin.mean_return));
    show(at('returns'), versions.length > 0);
    if (versions.length) this.showReturns(versions, history.versions.width, served);
  }

  showTimes(times) {
    const key = JSON.stringify(times);
    const bins = times.bins.map(bin => {
      const from = Date.parse(bin.start);
      const span = 1000 * times.width;
      return {...bin, from, to: from + span, name: moment(from, span)};
    });
    const [first, last] = [bins[0].from, bins[bins.length - 1].to];
    say(at('times-note'), `since ${day(first)}, by ${duration(times.width)}`);
    const x = width => ({low: first, high: last, ticks: timeTicks(first, last, width / 110)});
    this.arrivals.show(key, width => arrivalsOf(bins, x(width)));
    this.delays.show(key, width => delaysOf(bins, x(width)));
    say(at('delays-note'), delayRange(bins).log ? 'log scale' : '');
  }

  showReturns(bins, width, served) {
    const all = bins[bins.length - 1];
    say(at('returns-note'), width > 1 ? `${count(width)} versions together` : '');
    this.returns.show(JSON.stringify([bins, served]), room => returnsOf(bins, all.last, served, room));
  }
}

function arrivalsOf(bins, x) {
  const most = Math.max(1, ...bins.map(bin => Math.max(bin.opened, bin.returned)));
  const [opened, returned] = ['opened', 'returned'].map(kind =>
    bins.map(({from, to, [kind]: value}) => ({from, to, value})));
  const last = bins[bins.length - 1];
  return {
    label: 'Episodes over time. '
      + `In the last bin ${count(last.opened)} were opened and ${count(last.returned)} returned.`,
    x,
    y: {low: 0, high: most, ticks: wholeTicks(0, most, 4)},
    layers: [steps(opened, 'opened', true), steps(returned, 'returned', false)],
    points: bins.map(bin => ({
      x: (bin.from + bin.to) / 2,
      lines: [bin.name, `${count(bin.opened)} opened`, `${count(bin.returned)} returned`],
    })),
  };
}

function delayRange(bins) {
  const values = bins.flatMap(bin => [bin.delay, bin.longest]).filter(value => value > 0);
  const high = Math.max(...values, 0.001);
  const low = Math.max(Math.min(...values, high), 0.001);
  const log = high / low > LOG_FROM;
  return log ? {low: low / 1.2, high: high * 1.2, log} : {low: 0, high, log};
}

function delaysOf(bins, x) {
  const {low, high, log} = delayRange(bins);
  const back = bins.filter(bin => known(bin.delay));
  const [mean, longest] = ['delay', 'longest'].map(kind =>
    bins.map(bin => ({x: (bin.from + bin.to) / 2, y: bin[kind]})));
  const last = back[back.length - 1];
  return {
    label: last
      ? 'Delays over time. Of those that returned last, '
        + `the mean is ${duration(last.delay)} and the longest ${duration(last.longest)}.`
      : 'Delays over time. Nothing has returned yet.',
    x,
    y: {low, high, log, ticks: log ? logDurationTicks(low, high) : durationTicks(low, high, 4)},
    layers: [line(longest, 'longest'), line(mean, 'mean')],
    points: back.map(bin => ({
      x: (bin.from + bin.to) / 2,
      lines: [
        bin.name, `mean ${duration(bin.delay)}`, `longest ${duration(bin.longest)}`,
        ...(known(bin.episodes) ? [`mean ${figure(bin.episodes)} episodes`] : []),
      ],
    })),
  };
}

function returnsOf(bins, newest, served, width) {
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
    label: `Mean return by version. Version ${count(served)} is served`
      + (marked ? `; its mean return so far is ${figure(marked.y)}.` : '; nothing of it is back yet.'),
    x: {low: first, high: last, ticks: wholeTicks(1, last, Math.min(width / 60, 12))},
    y: {low, high, ticks: numberTicks(low, high, 4)},
    layers: [flag(served, `served: ${count(served)}`, 'served'), whiskers(points, 'version')],
    points: bins.map((bin, i) => ({x: points[i].x, lines: returnLines(bin)})),
  };
}

function returnLines(bin) {
  return [
    bin.first === bin.last
      ? `version ${count(bin.first)}` : `versions ${count(bin.first)} – ${count(bin.last)}`,
    `mean ${figure(bin.mean_return)}${known(bin.error) ? ` ± ${figure(bin.error)}` : ''}`,
    `${count(bin.returned)} of ${count(bin.opened)} back`,
  ];
}
