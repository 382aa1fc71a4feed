// Numbers, durations and times, as a person reads them.

const NONE = '–';
const UNITS = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];
const WHOLE = new Intl.NumberFormat('en', {maximumFractionDigits: 0});
const SHORT = new Intl.NumberFormat('en', {maximumSignificantDigits: 3});
const TENTHS = new Intl.NumberFormat('en', {maximumFractionDigits: 1});
const FINE = new Intl.NumberFormat('en', {maximumFractionDigits: 3});

function known(value) {
  return value !== null && value !== undefined;
}

function count(value) {
  return known(value) ? WHOLE.format(value) : NONE;
}

function figure(value) {
  if (!known(value)) return NONE;
  return Math.abs(value) >= 100 ? WHOLE.format(value) : SHORT.format(value);
}

// To be read beside whole numbers.
function tenths(value) {
  return known(value) ? TENTHS.format(value) : NONE;
}

function percent(value) {
  return known(value) ? `${SHORT.format(100 * value)} %` : NONE;
}

function many(value, one, several = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : several}`;
}

function duration(seconds) {
  if (!known(seconds)) return NONE;
  if (seconds < 1) return seconds === 0 ? '0 s' : `${Math.max(1, Math.round(seconds * 1000))} ms`;
  const [unit, size] = UNITS.find(([, each]) => seconds >= each);
  const value = seconds / size;
  return `${value < 10 ? Math.round(value * 10) / 10 : count(value)} ${unit}`;
}

function ago(seconds) {
  return seconds < 1 ? 'just now' : `${duration(Math.floor(seconds))} ago`;
}

function clock(time, step) {
  const date = new Date(time);
  if (step >= 86400e3) return date.toLocaleDateString('en', {day: 'numeric', month: 'short'});
  const fine = step < 60e3 ? {second: '2-digit'} : {};
  return date.toLocaleTimeString('en', {hour: '2-digit', minute: '2-digit', hourCycle: 'h23', ...fine});
}

// The time of a bin that is `width` milliseconds wide.
function moment(time, width) {
  const date = new Date(time).toLocaleDateString('en', {day: 'numeric', month: 'short'});
  return `${date}, ${clock(time, Math.min(width, 60e3))}`;
}

// A day to go with the hours of an axis.
function day(time) {
  return new Date(time).toLocaleDateString('en', {day: 'numeric', month: 'short', year: 'numeric'});
}

function either(names) {
  if (names.length < 2) return names.join('');
  return `${names.slice(0, -1).join(', ')} or ${names[names.length - 1]}`;
}
