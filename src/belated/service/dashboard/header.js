// Header: problem, served version, and state of the service.

function showHeader({spec, status, ready}) {
  const {serving} = status;
  document.title = `${spec.name} · belated`;
  setText(byId('title'), spec.name);
  setText(byId('subtitle'), [
    pluralize(spec.states.length, 'state') + (spec.terminal ? `, ${spec.terminal.length} terminal` : ''),
    pluralize(spec.actions.length, 'action'), pluralize(spec.horizon, 'step'),
    ...(spec.reward_range ? [`rewards in [${spec.reward_range.map(formatNumber).join(', ')}]`] : []),
    `base ${formatPart(spec.base)}`, `updater ${formatPart(spec.updater)}`,
    spec.late === 'rewards' ? 'rewards are delayed' : 'all feedback is delayed',
  ].join(' · '));
  setText(byId('frozen'), `Frozen at version ${formatCount(serving.version)}`);
  setVisible(byId('frozen'), serving.frozen);
  setText(byId('shadow'), 'Shadow mode: new versions are not served');
  setVisible(byId('shadow'), serving.shadow);
  showFailure(status.failure);
  showTiles(spec, status);
  showReadiness(ready);
}

function formatPart({name, options}) {
  const parts = Object.entries(options).map(([key, value]) => `${key} ${value}`);
  return parts.length ? `${name} (${parts.join(', ')})` : name;
}

function showFailure(failure) {
  setVisible(byId('failure'), failure !== null);
  if (failure === null) return;
  setText(byId('failure'), `Learning has stopped: ${withPeriod(failure)} `
    + 'Published versions are still served, and feedback is still recorded.');
}

function withPeriod(text) {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function showTiles(spec, status) {
  const {serving, begun, observed, missing, psi} = status;
  const half = status.lateness?.episodes.median;
  const behind = serving.newest - serving.version;
  const share = begun ? observed / begun : null;
  const over = isKnown(psi) && missing > psi;
  const tiles = {
    served: formatCount(serving.version),
    'served-note': behind ? `newest is ${formatCount(serving.newest)}` : 'newest',
    begun: formatCount(begun),
    'begun-note': `of about ${formatCount(spec.episodes)} expected`,
    observed: formatCount(observed),
    'observed-note': isKnown(share) ? `${formatPercent(share)} of opened` : 'none opened yet',
    missing: formatCount(missing),
    'missing-note': isKnown(psi)
      ? `${over ? 'above' : 'within'} the bound of ${formatCount(Math.floor(psi))}` : '',
    'mean-delay': formatNumber(status.mean_delay),
    'mean-delay-note': `episodes so far${isKnown(half) ? `; half is back after ${formatCount(half)}` : ''}`,
  };
  for (const [id, text] of Object.entries(tiles)) setText(byId(id), text);
  byId('missing').classList.toggle('over', over);
}

function showReadiness(ready) {
  if (ready.ready) {
    showServiceState('good', ready.plans ? 'Live' : 'Live; another process plans');
  } else if (ready.store === false) {
    showServiceState('bad', 'Not ready: the store is unavailable');
  } else if (ready.caught_up === false) {
    showServiceState('busy', 'Not ready: reading the ledger');
  } else {
    showServiceState('bad', 'Not ready: planning has stopped');
  }
}

function showServiceState(kind, text) {
  byId('state').className = `state ${kind}`;
  setText(byId('state-text'), text);
}
