// Pending episodes: their number, its bound, and their ages.

function showPending(status) {
  const {missing, psi, ages, in_flight: flight} = status;
  setText(byId('pending-words'), pendingText(status));
  showBullet(missing, psi);
  showAges(ages, status.recorded_ages);
  showLateness(status.lateness);
  const facts = {
    'flight-mean': `${flight && !flight.exact ? 'at most ' : ''}${formatPercent(flight?.mean)}`,
    'flight-most': `${flight && !flight.exact ? 'at most ' : ''}${formatPercent(flight?.most)}`,
    updates: formatCount(status.updates),
    epochs: formatCount(status.epochs),
    alpha: status.failure === null && status.alpha === null ? '∞' : formatNumber(status.alpha),
    waiting: formatCount(status.waiting),
  };
  for (const [id, text] of Object.entries(facts)) setText(byId(id), text);
}

function pendingText(status) {
  return missingText(status) + (status.lost ? ` ${formatCount(status.lost)} lost, no longer expected.` : '');
}

function missingText({begun, missing, psi}) {
  if (!isKnown(missing)) return 'The number of missing episodes is unknown.';
  if (begun === 0) return 'No episode has been opened yet.';
  if (!isKnown(psi)) return `${formatCount(missing)} missing.`;
  const limit = Math.floor(psi);
  if (missing <= psi) {
    return `${formatCount(missing)} missing; up to ${formatCount(limit)} are expected with this mean delay.`;
  }
  return `${formatCount(missing)} missing; only up to ${formatCount(limit)} are expected with this mean delay. `
    + 'Check whether feedback still reaches the service.';
}

function showBullet(missing, psi) {
  const whole = 1.12 * Math.max(missing ?? 0, psi ?? 0, 1);
  const share = value => `${(100 * (value ?? 0) / whole).toFixed(2)}%`;
  byId('bullet').classList.toggle('over', isKnown(psi) && missing > psi);
  byId('bullet-fill').style.width = share(missing);
  setVisible(byId('bullet-mark'), isKnown(psi));
  setVisible(byId('bullet-label'), isKnown(psi));
  byId('bullet-mark').style.left = share(psi);
  byId('bullet-label').style.left = `clamp(2rem, ${share(psi)}, calc(100% - 2rem))`;
  setText(byId('bullet-label'), `ψ = ${formatTenths(psi)}`);
  setAriaLabel(byId('bullet'), `${formatCount(missing)} missing, ψ is ${formatTenths(psi)}`);
}

// The oldest episode by event time and, if it differs, the one that was recorded first.
function oldestText(happened, recorded) {
  const [opened, arrived] = [happened, recorded].map(formatAgo);
  return opened === arrived ? `oldest ${opened}` : `oldest ${opened}; first recorded ${arrived}`;
}

// Converts cumulative counts, by maximum age in seconds, to counts between two limits.
function ageBins(counts) {
  const limits = Object.keys(counts).map(Number).filter(Number.isFinite).sort((a, b) => a - b);
  const bins = [];
  let low = 0;
  let below = 0;
  for (const limit of [...limits, Infinity]) {
    const total = counts[limit === Infinity ? 'inf' : String(limit)];
    bins.push({low, high: limit, count: total - below});
    [low, below] = [limit, total];
  }
  return bins;
}

function ageName({low, high}) {
  if (low === 0) return `under ${formatDuration(high)}`;
  if (high === Infinity) return `over ${formatDuration(low)}`;
  const [from, to] = [formatDuration(low), formatDuration(high)];
  const [value, unit] = from.split(' ');
  return to.endsWith(` ${unit}`) ? `${value} – ${to}` : `${from} – ${to}`;
}

function showAges(ages, recorded) {
  setText(byId('ages-note'), ages && isKnown(ages.oldest) ? oldestText(ages.oldest, recorded.oldest) : '');
  const bins = ages ? ageBins(ages.counts) : [];
  const list = byId('ages');
  if (list.children.length !== bins.length) {
    list.replaceChildren(...bins.map(bin => element('li', {},
      element('span', {class: 'age'}, ageName(bin)),
      element('span', {class: 'age-track'}, element('span', {class: 'age-bar'})),
      element('span', {class: 'age-count'}))));
  }
  const largest = Math.max(1, ...bins.map(bin => bin.count));
  bins.forEach((bin, i) => {
    const row = list.children[i];
    row.classList.toggle('none', bin.count === 0);
    row.querySelector('.age-bar').style.width = `${100 * bin.count / largest}%`;
    setText(row.lastChild, formatCount(bin.count));
  });
}

// Estimated delay, in seconds; the sentence is that of the service.
function showLateness(lateness) {
  const late = lateness?.seconds;
  const range = (low, high, format) => `${format(low)} to ${isKnown(high) ? format(high) : 'unknown'}`;
  const told = isKnown(late?.never);
  const facts = {
    'lateness-words': late?.summary ?? 'The delay is unknown.',
    'late-median': formatDuration(late?.median),
    'late-median-note': isKnown(late?.median) ? range(late.median_low, late.median_high, formatDuration) : '',
    'late-out-name': late?.followed ? `Not back after ${formatDuration(late.followed)}` : 'Not back',
    'late-out': formatPercent(late?.followed ? late.not_back : null),
    'late-out-note': late?.followed ? range(late.not_back_low, late.not_back_high, formatPercent) : '',
    'late-never': told ? formatPercent(late.never) : NO_VALUE,
    'late-never-note': told ? range(late.never_low, late.never_high, formatPercent) : 'cannot be told yet',
  };
  for (const [id, text] of Object.entries(facts)) setText(byId(id), text);
}
