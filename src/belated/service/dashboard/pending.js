// Pending episodes: how many are missing, how many may be, and how old they are.

function showPending(status) {
  const {missing, psi, ages, in_flight: flight} = status;
  say(at('pending-words'), pendingWords(status));
  showBullet(missing, psi);
  showAges(ages);
  const facts = {
    'flight-mean': `${flight && !flight.exact ? 'at most ' : ''}${percent(flight?.mean)}`,
    'flight-most': `${flight && !flight.exact ? 'at most ' : ''}${percent(flight?.most)}`,
    updates: count(status.updates),
    epochs: count(status.epochs),
    alpha: status.failure === null && status.alpha === null ? '∞' : figure(status.alpha),
    waiting: count(status.waiting),
  };
  for (const [id, text] of Object.entries(facts)) say(at(id), text);
}

function pendingWords({begun, missing, psi}) {
  if (!known(missing)) return 'How many are missing is not known.';
  if (begun === 0) return 'No episode has been opened yet.';
  if (!known(psi)) return `${count(missing)} missing.`;
  const most = Math.floor(psi);
  if (missing <= psi) {
    return `${count(missing)} missing; with this mean delay up to ${count(most)} are to be expected.`;
  }
  return `${count(missing)} missing; with this mean delay no more than ${count(most)} `
    + 'would be expected. Perhaps something is stuck.';
}

function showBullet(missing, psi) {
  const whole = 1.12 * Math.max(missing ?? 0, psi ?? 0, 1);
  const share = value => `${(100 * (value ?? 0) / whole).toFixed(2)}%`;
  at('bullet').classList.toggle('over', known(psi) && missing > psi);
  at('bullet-fill').style.width = share(missing);
  show(at('bullet-mark'), known(psi));
  show(at('bullet-label'), known(psi));
  at('bullet-mark').style.left = share(psi);
  at('bullet-label').style.left = `clamp(2rem, ${share(psi)}, calc(100% - 2rem))`;
  say(at('bullet-label'), `ψ = ${tenths(psi)}`);
  describe(at('bullet'), `${count(missing)} missing, ψ is ${tenths(psi)}`);
}

// From "younger than so many seconds" to what lies between two limits.
function ageBins(counts) {
  const limits = Object.keys(counts).map(Number).filter(Number.isFinite).sort((a, b) => a - b);
  const bins = [];
  let low = 0;
  let below = 0;
  for (const limit of [...limits, Infinity]) {
    const so_far = counts[limit === Infinity ? 'inf' : String(limit)];
    bins.push({low, high: limit, count: so_far - below});
    [low, below] = [limit, so_far];
  }
  return bins;
}

function ageName({low, high}) {
  if (low === 0) return `under ${duration(high)}`;
  if (high === Infinity) return `over ${duration(low)}`;
  const [from, to] = [duration(low), duration(high)];
  const [value, unit] = from.split(' ');
  return to.endsWith(` ${unit}`) ? `${value} – ${to}` : `${from} – ${to}`;
}

function showAges(ages) {
  say(at('ages-note'), ages && known(ages.oldest) ? `oldest ${ago(ages.oldest)}` : '');
  const bins = ages ? ageBins(ages.counts) : [];
  const place = at('ages');
  if (place.children.length !== bins.length) {
    place.replaceChildren(...bins.map(bin => make('li', {},
      make('span', {class: 'age'}, ageName(bin)),
      make('span', {class: 'age-track'}, make('span', {class: 'age-bar'})),
      make('span', {class: 'age-count'}))));
  }
  const most = Math.max(1, ...bins.map(bin => bin.count));
  bins.forEach((bin, i) => {
    const row = place.children[i];
    row.classList.toggle('none', bin.count === 0);
    row.querySelector('.age-bar').style.width = `${100 * bin.count / most}%`;
    say(row.lastChild, count(bin.count));
  });
}
