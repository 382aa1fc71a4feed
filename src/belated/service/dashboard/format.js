// Formats of numbers, durations and times.

const NO_VALUE = '–';
const UNITS = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];
const INTEGER_FORMAT = new Intl.NumberFormat('en', {maximumFractionDigits: 0});
const THREE_DIGITS_FORMAT = new Intl.NumberFormat('en', {maximumSignificantDigits: 3});
const ONE_DECIMAL_FORMAT = new Intl.NumberFormat('en', {maximumFractionDigits: 1});
const THREE_DECIMALS_FORMAT = new Intl.NumberFormat('en', {maximumFractionDigits: 3});

function isKnown(value) {
  return value !== null && value !== undefined;
}

function formatCount(value) {
  return isKnown(value) ? INTEGER_FORMAT.format(value) : NO_VALUE;
}

function formatNumber(value) {
  if (!isKnown(value)) return NO_VALUE;
  return Math.abs(value) >= 100 ? INTEGER_FORMAT.format(value) : THREE_DIGITS_FORMAT.format(value);
}

// With one decimal, for comparison with integers.
function formatTenths(value) {
  return isKnown(value) ? ONE_DECIMAL_FORMAT.format(value) : NO_VALUE;
}

function formatPercent(value) {
  return isKnown(value) ? `${THREE_DIGITS_FORMAT.format(100 * value)} %` : NO_VALUE;
}

function pluralize(value, singular) {
  return `${formatCount(value)} ${singular}${value === 1 ? '' : 's'}`;
}

function formatDuration(seconds) {
  if (!isKnown(seconds)) return NO_VALUE;
  if (seconds < 1) return seconds === 0 ? '0 s' : `${Math.max(1, Math.round(seconds * 1000))} ms`;
  const [unit, size] = UNITS.find(([, each]) => seconds >= each);
  const value = seconds / size;
  return `${value < 10 ? Math.round(value * 10) / 10 : formatCount(value)} ${unit}`;
}

function formatAgo(seconds) {
  return seconds < 1 ? 'just now' : `${formatDuration(Math.floor(seconds))} ago`;
}

function formatClock(time, step) {
  const date = new Date(time);
  if (step >= 86400e3) return date.toLocaleDateString('en', {day: 'numeric', month: 'short'});
  const fine = step < 60e3 ? {second: '2-digit'} : {};
  return date.toLocaleTimeString('en', {hour: '2-digit', minute: '2-digit', hourCycle: 'h23', ...fine});
}

// Start of a bin of `width` milliseconds.
function formatMoment(time, width) {
  const date = new Date(time).toLocaleDateString('en', {day: 'numeric', month: 'short'});
  return `${date}, ${formatClock(time, Math.min(width, 60e3))}`;
}

// Date of the first time on an axis.
function formatDate(time) {
  return new Date(time).toLocaleDateString('en', {day: 'numeric', month: 'short', year: 'numeric'});
}

function joinWithOr(names) {
  if (names.length < 2) return names.join('');
  return `${names.slice(0, -1).join(', ')} or ${names[names.length - 1]}`;
}
