// Scales: from values to pixels, and which values to name on an axis.

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86400;
const STEPS = [
  1, 2, 5, 10, 15, 30,
  ...[1, 2, 5, 10, 15, 30].map(each => each * MINUTE),
  ...[1, 2, 3, 6, 12].map(each => each * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map(each => each * DAY),
];

function linear(low, high, from, to) {
  const span = high - low || 1;
  return value => from + (value - low) / span * (to - from);
}

function logarithmic(low, high, from, to) {
  const place = linear(Math.log(low), Math.log(high), from, to);
  return value => place(Math.log(Math.max(value, low)));
}

// 1, 2 or 5 times a power of ten.
function niceStep(span, about) {
  const rough = span / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const share = rough / power;
  return power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
}

function multiples(step, low, high) {
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({length: Math.max(0, last - first + 1)}, (_, i) => (first + i) * step);
}

function wholeTicks(low, high, about) {
  const step = Math.max(1, niceStep(high - low || 1, about));
  return multiples(step, low, high).map(value => ({at: value, text: count(value)}));
}

function numberTicks(low, high, about) {
  const step = niceStep(high - low || 1, about);
  return multiples(step, low, high).map(value => ({at: value, text: FINE.format(value)}));
}

function durationStep(span, about) {
  const rough = span / about;
  if (rough < 1) return niceStep(span, about);
  return STEPS.find(each => each >= rough) ?? niceStep(span / DAY, about) * DAY;
}

function durationTicks(low, high, about) {
  const step = durationStep(high - low, about);
  return multiples(step, low, high).map(value => ({at: value, text: duration(value)}));
}

const COARSE = [
  0.001, 0.01, 0.1, 1, 10, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY, 365 * DAY,
];
const BETWEEN = [
  0.003, 0.03, 0.3, 3, 30, 3 * MINUTE, 30 * MINUTE, 3 * HOUR, 12 * HOUR, 3 * DAY, 14 * DAY, 90 * DAY,
];

function logDurationTicks(low, high) {
  const seen = COARSE.concat(high / low < 1000 ? BETWEEN : []);
  return seen.filter(each => each >= low && each <= high)
    .map(value => ({at: value, text: duration(value)}));
}

// Times in milliseconds; whole hours and days are those of the reader's clock, which tells no less
// than a second.
function timeTicks(low, high, about) {
  const step = Math.max(1, durationStep((high - low) / 1000, about)) * 1000;
  const shift = new Date(low).getTimezoneOffset() * 60e3;
  return multiples(step, low - shift, high - shift)
    .map(value => ({at: value + shift, text: clock(value + shift, step)}));
}
