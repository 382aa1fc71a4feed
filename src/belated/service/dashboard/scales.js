// Scales from values to pixels, and ticks of axes. `target` is the desired number of ticks.

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86400;
const DURATION_STEPS_S = [
  1, 2, 5, 10, 15, 30,
  ...[1, 2, 5, 10, 15, 30].map(each => each * MINUTE),
  ...[1, 2, 3, 6, 12].map(each => each * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map(each => each * DAY),
];

function linearScale(low, high, from, to) {
  const span = high - low || 1;
  return value => from + (value - low) / span * (to - from);
}

function logScale(low, high, from, to) {
  const place = linearScale(Math.log(low), Math.log(high), from, to);
  return value => place(Math.log(Math.max(value, low)));
}

// Returns 1, 2 or 5 times a power of ten.
function niceStep(span, target) {
  const rough = span / target;
  const power = 10 ** Math.floor(Math.log10(rough));
  const share = rough / power;
  return power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
}

function multiplesBetween(step, low, high) {
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({length: Math.max(0, last - first + 1)}, (_, i) => (first + i) * step);
}

function wholeTicks(low, high, target) {
  const step = Math.max(1, niceStep(high - low || 1, target));
  return multiplesBetween(step, low, high).map(value => ({at: value, text: formatCount(value)}));
}

function numberTicks(low, high, target) {
  const step = niceStep(high - low || 1, target);
  return multiplesBetween(step, low, high)
    .map(value => ({at: value, text: THREE_DECIMALS_FORMAT.format(value)}));
}

function durationStep(span, target) {
  const rough = span / target;
  if (rough < 1) return niceStep(span, target);
  return DURATION_STEPS_S.find(each => each >= rough) ?? niceStep(span / DAY, target) * DAY;
}

function durationTicks(low, high, target) {
  const step = durationStep(high - low, target);
  return multiplesBetween(step, low, high).map(value => ({at: value, text: formatDuration(value)}));
}

const LOG_TICKS_S = [
  0.001, 0.01, 0.1, 1, 10, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY, 365 * DAY,
];
const LOG_MINOR_TICKS_S = [
  0.003, 0.03, 0.3, 3, 30, 3 * MINUTE, 30 * MINUTE, 3 * HOUR, 12 * HOUR, 3 * DAY, 14 * DAY, 90 * DAY,
];

function logDurationTicks(low, high) {
  const ticks = LOG_TICKS_S.concat(high / low < 1000 ? LOG_MINOR_TICKS_S : []);
  return ticks.filter(each => each >= low && each <= high)
    .map(value => ({at: value, text: formatDuration(value)}));
}

// Ticks at full hours and days in local time, at least a second apart. Times are in milliseconds.
function timeTicks(low, high, target) {
  const step = Math.max(1, durationStep((high - low) / 1000, target)) * 1000;
  const shift = new Date(low).getTimezoneOffset() * 60e3;
  return multiplesBetween(step, low - shift, high - shift)
    .map(value => ({at: value + shift, text: formatClock(value + shift, step)}));
}
