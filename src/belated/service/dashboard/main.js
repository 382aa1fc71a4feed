// The page: asks every two seconds while somebody looks, and shows what it is told.

const EVERY = 2000;
const HISTORY_EVERY = 4000;
const PROBLEMS_EVERY = 60e3;
const POLICIES = 8;

const map = new PolicyMap();
const charts = new History();
const diff = new Diff();
const gate = new Gate(() => start());
const controls = new Controls((name, serving) => {
  if (name !== view.name) return;
  view.status = {...view.status, serving};
  view.shown = null;
  render();
  soon(0);
});
const versions = new Versions({
  show: version => turnTo(version),
  compare: (from, to) => diff.compare(from, to),
  rollBack: version => controls.confirm('roll_back', version),
});

let problems = null;
let listed = 0;
let heard = null;
let timer = 0;
let round = 0;
let view = blank(null);

// All that is known of one problem.
function blank(name) {
  return {
    name, spec: null, status: null, ready: null, shown: null,
    versions: null, history: null, historyAt: 0, policies: new Map(),
  };
}

function soon(wait) {
  clearTimeout(timer);
  timer = setTimeout(refresh, wait);
}

function start() {
  [problems, listed, view] = [null, 0, blank(null)];
  soon(0);
}

async function refresh() {
  const mine = ++round;
  if (document.hidden) return;
  try {
    const ready = await readiness();
    const name = await chosen();
    if (mine !== round) return;
    if (view.name !== name) view = blank(name);
    view.ready = ready;
    if (name !== null) await load(view);
    if (mine !== round) return;
    heard = Date.now();
    if (!gate.asked) gate.show(name !== null ? 'panels' : problems ? null : 'name-form');
    note(remark(name));
    if (name !== null) render();
    else showReadiness(ready);
  } catch (error) {
    if (mine !== round) return;
    trouble(error);
  }
  soon(EVERY);
}

// The problem that the address names, or else the first.
async function chosen() {
  const wanted = inAddress() || null;
  if (!problems?.length || Date.now() - listed > PROBLEMS_EVERY) {
    problems = await listProblems();
    listed = Date.now();
  }
  if (!problems) return wanted; // a token for one problem cannot list them
  showPicker(wanted);
  return (problems.find(one => one.name === wanted) ?? problems[0])?.name ?? null;
}

function inAddress() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return location.hash.slice(1); // typed by hand
  }
}

async function listProblems() {
  try {
    return (await ask('v1/problems')).problems;
  } catch (error) {
    if (error.status === 403 && token() && !error.message.includes('scope')) return null;
    throw error;
  }
}

async function load(view) {
  const {name} = view;
  view.spec ??= problems?.find(one => one.name === name) ?? await ask(of(name));
  view.status = await ask(of(name, '/status'));
  const {serving, seq} = view.status;
  const work = [loadPolicy(view, view.shown ?? serving.version)];
  const newest = view.versions?.[view.versions.length - 1]?.version;
  if (newest !== serving.newest) {
    work.push(askIfThere(of(name, '/versions'))
      .then(said => { view.versions = said?.versions ?? null; }));
  }
  const stale = Date.now() - view.historyAt >= HISTORY_EVERY;
  if (stale && (!view.history || view.history.seq !== seq)) {
    view.historyAt = Date.now();
    work.push(askIfThere(of(name, '/history')).then(said => { view.history = said; }));
  }
  await Promise.all(work);
}

// Versions never change, so each is asked for once.
async function loadPolicy(view, version) {
  if (view.policies.has(version)) return;
  const plan = await ask(of(view.name, `/policy/${version}`));
  if (view.policies.size >= POLICIES) view.policies.delete(view.policies.keys().next().value);
  view.policies.set(version, plan);
}

// Show a version, or the one that is served.
async function turnTo(version) {
  const mine = view;
  mine.shown = version;
  try {
    await loadPolicy(mine, version ?? mine.status.serving.version);
    if (mine === view) render();
  } catch (error) {
    if (mine === view) trouble(error);
  }
}

function render() {
  const {name, spec, status, history, shown} = view;
  const {serving} = status;
  showHeader(view);
  showPending(status);
  controls.show(name, serving);
  charts.show(history, serving.version);
  versions.show(name, view.versions, serving, shown ?? serving.version, history);
  diff.follow(spec, serving);
  showPolicy(view, shown ?? serving.version);
}

function showPolicy({spec, status, policies, shown}, version) {
  const plan = policies.get(version);
  if (!plan) return;
  const served = version === status.serving.version;
  say(at('policy-title'), `Policy, version ${count(version)}`);
  say(at('policy-badge'), served ? 'served' : 'not served');
  at('policy-badge').className = served ? 'badge served' : 'badge';
  show(at('policy-back'), shown !== null && !served);
  map.show(spec, plan);
}

function showPicker(wanted) {
  const names = problems.map(one => one.name);
  const place = at('problems');
  if ([...place.options].map(one => one.value).join('\n') !== names.join('\n')) {
    place.replaceChildren(...names.map(name => make('option', {value: name}, name)));
  }
  if (names.length && document.activeElement !== place) {
    place.value = names.includes(wanted) ? wanted : names[0];
  }
  show(at('picker'), names.length > 1);
}

function note(text, kind = '') {
  show(at('note'), text !== null);
  at('note').className = `note ${kind}`;
  say(at('note'), text ?? '');
}

// What is to be said of the problem that is shown, if anything.
function remark(name) {
  const wanted = inAddress();
  if (problems && name === null) {
    return 'No problem has been defined yet. Define one with POST /v1/problems, or with belated.Client.';
  }
  return wanted && name !== null && wanted !== name
    ? `There is no problem ‘${wanted}’; this is ‘${name}’.` : null;
}

function trouble(error) {
  if (error.status === 401) {
    view = blank(null);
    showState('busy', 'A token is needed');
    note(null);
    gate.askForToken();
    return;
  }
  if (!(error instanceof Away || error instanceof Refusal)) console.error(error);
  const since = heard ? ` What is shown is from ${ago((Date.now() - heard) / 1000)}.` : '';
  const away = error instanceof Away;
  showState('bad', away ? 'Away' : 'Refused');
  note(`${sentence(error.message)}${away ? ' Trying again.' : ''}${view.status ? since : ''}`, 'bad');
  if ([403, 404].includes(error.status) && !gate.asked) {
    gate.show(problems || listed === 0 ? null : 'name-form');
  }
  show(at('token-change'), token() !== null);
}

at('policy-back').addEventListener('click', () => turnTo(null));
at('problems').addEventListener('change', () => {
  location.hash = encodeURIComponent(at('problems').value);
});
addEventListener('hashchange', () => soon(0));
document.addEventListener('visibilitychange', () => { if (!document.hidden) soon(0); });
refresh();
