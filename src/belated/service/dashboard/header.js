// The header: which problem, what is served, and whether all is well.

function showHeader({spec, status, ready}) {
  const {serving} = status;
  document.title = `${spec.name} · belated`;
  say(at('title'), spec.name);
  say(at('subtitle'), [
    many(spec.states.length, 'state'), many(spec.actions.length, 'action'),
    many(spec.horizon, 'step'), `base ${part(spec.base)}`, `updater ${part(spec.updater)}`,
    spec.late === 'rewards' ? 'rewards come late' : 'everything comes late',
  ].join(' · '));
  say(at('frozen'), `Frozen at version ${count(serving.version)}`);
  show(at('frozen'), serving.frozen);
  say(at('shadow'), 'Shadow: learns, does not serve');
  show(at('shadow'), serving.shadow);
  showFailure(status.failure);
  showTiles(spec, status);
  showReadiness(ready);
}

function part({name, options}) {
  const said = Object.entries(options).map(([key, value]) => `${key} ${value}`);
  return said.length ? `${name} (${said.join(', ')})` : name;
}

function showFailure(failure) {
  show(at('failure'), failure !== null);
  if (failure === null) return;
  say(at('failure'), `Nothing new is learned of this problem: ${sentence(failure)} `
    + 'What was published before is still served, and what comes in is still recorded.');
}

function sentence(text) {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function showTiles(spec, status) {
  const {serving, begun, observed, missing, psi, ages} = status;
  const behind = serving.newest - serving.version;
  const share = begun ? observed / begun : null;
  const over = known(psi) && missing > psi;
  const tiles = {
    served: count(serving.version),
    'served-note': behind ? `newest is ${count(serving.newest)}` : 'the newest',
    begun: count(begun),
    'begun-note': `of about ${count(spec.episodes)} planned`,
    observed: count(observed),
    'observed-note': known(share) ? `${percent(share)} of those opened` : 'none opened yet',
    missing: count(missing),
    'missing-note': known(psi) ? `${over ? 'more than the' : 'up to'} ${count(Math.floor(psi))} expected` : '',
    'mean-delay': figure(status.mean_delay),
    'mean-delay-note': `episodes${known(ages?.median) ? `; median age ${duration(ages.median)}` : ''}`,
  };
  for (const [id, text] of Object.entries(tiles)) say(at(id), text);
  at('missing').classList.toggle('over', over);
}

function showReadiness(ready) {
  if (ready.ready) {
    showState('good', ready.plans ? 'Live' : 'Live; another process plans');
  } else if (ready.store === false) {
    showState('bad', 'Not ready: the store cannot be reached');
  } else if (ready.caught_up === false) {
    showState('busy', 'Not ready: reading what is in the store');
  } else {
    showState('bad', 'Not ready: planning has stopped');
  }
}

function showState(kind, text) {
  at('state').className = `state ${kind}`;
  say(at('state-text'), text);
}
