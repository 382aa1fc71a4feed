// The page: fetches the data every two seconds while the tab is visible, and shows it.

const REFRESH_MS = 2000;
const HISTORY_REFRESH_MS = 4000;
const PROBLEMS_REFRESH_MS = 60e3;
const MAX_CACHED_POLICIES = 8;

const map = new PolicyMap();
const charts = new HistoryCharts();
const diff = new Diff();
const forms = new AccessForms(() => start());
const controls = new Controls((name, serving) => {
  if (name !== view.name) return;
  view.status = {...view.status, serving};
  view.shown = null;
  render();
  scheduleRefresh(0);
});
const versions = new Versions({
  show: version => showVersion(version),
  compare: (from, to) => diff.compare(from, to),
  rollBack: version => controls.confirm('roll_back', version),
});

let problems = null;
let problemsListedAt = 0;
let lastResponseAt = null;
let timer = 0;
let refreshId = 0;
let view = emptyView(null);

// Data of one problem.
function emptyView(name) {
  return {
    name, spec: null, status: null, ready: null, shown: null,
    versions: null, history: null, historyAt: 0, policies: new Map(),
  };
}

function scheduleRefresh(wait) {
  clearTimeout(timer);
  timer = setTimeout(refresh, wait);
}

function start() {
  [problems, problemsListedAt, view] = [null, 0, emptyView(null)];
  scheduleRefresh(0);
}

async function refresh() {
  const id = ++refreshId;
  if (document.hidden) return;
  try {
    const ready = await fetchReadiness();
    const name = await selectProblem();
    if (id !== refreshId) return;
    if (view.name !== name) view = emptyView(name);
    view.ready = ready;
    if (name !== null) await load(view);
    if (id !== refreshId) return;
    lastResponseAt = Date.now();
    if (!forms.changing) forms.show(name !== null ? 'panels' : problems ? null : 'name-form');
    showNotice(problemNotice(name));
    if (name !== null) render();
    else showReadiness(ready);
  } catch (error) {
    if (id !== refreshId) return;
    showError(error);
  }
  scheduleRefresh(REFRESH_MS);
}

// Returns the problem named in the URL, or else the first one.
async function selectProblem() {
  const wanted = problemInUrl() || null;
  if (!problems?.length || Date.now() - problemsListedAt > PROBLEMS_REFRESH_MS) {
    problems = await listProblems();
    problemsListedAt = Date.now();
  }
  if (!problems) return wanted; // the token is restricted to one problem
  showPicker(wanted);
  return (problems.find(problem => problem.name === wanted) ?? problems[0])?.name ?? null;
}

function problemInUrl() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return location.hash.slice(1); // invalid escape sequence
  }
}

async function listProblems() {
  try {
    return (await request('v1/problems')).problems;
  } catch (error) {
    if (error.status === 403 && getToken() && !error.message.includes('scope')) return null;
    throw error;
  }
}

async function load(view) {
  const {name} = view;
  view.spec ??= problems?.find(problem => problem.name === name) ?? await request(problemPath(name));
  view.status = await request(problemPath(name, '/status'));
  const {serving, seq} = view.status;
  const work = [loadPolicy(view, view.shown ?? serving.version)];
  const newest = view.versions?.[view.versions.length - 1]?.version;
  if (newest !== serving.newest) {
    work.push(requestIfExists(problemPath(name, '/versions'))
      .then(found => { view.versions = found?.versions ?? null; }));
  }
  const stale = Date.now() - view.historyAt >= HISTORY_REFRESH_MS;
  if (stale && (!view.history || view.history.seq !== seq)) {
    view.historyAt = Date.now();
    work.push(requestIfExists(problemPath(name, '/history')).then(found => { view.history = found; }));
  }
  await Promise.all(work);
}

// Versions never change, so each is fetched once.
async function loadPolicy(view, version) {
  if (view.policies.has(version)) return;
  const policy = await request(problemPath(view.name, `/policy/${version}`));
  if (view.policies.size >= MAX_CACHED_POLICIES) view.policies.delete(view.policies.keys().next().value);
  view.policies.set(version, policy);
}

// Shows a version, or the served one for null.
async function showVersion(version) {
  const mine = view;
  mine.shown = version;
  try {
    await loadPolicy(mine, version ?? mine.status.serving.version);
    if (mine === view) render();
  } catch (error) {
    if (mine === view) showError(error);
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
  const policy = policies.get(version);
  if (!policy) return;
  const served = version === status.serving.version;
  setText(byId('policy-title'), `Policy, version ${formatCount(version)}`);
  setText(byId('policy-badge'), served ? 'served' : 'not served');
  byId('policy-badge').className = served ? 'badge served' : 'badge';
  setVisible(byId('policy-back'), shown !== null && !served);
  map.show(spec, policy);
}

function showPicker(wanted) {
  const names = problems.map(problem => problem.name);
  const picker = byId('problems');
  if ([...picker.options].map(option => option.value).join('\n') !== names.join('\n')) {
    picker.replaceChildren(...names.map(name => element('option', {value: name}, name)));
  }
  if (names.length && document.activeElement !== picker) {
    picker.value = names.includes(wanted) ? wanted : names[0];
  }
  setVisible(byId('picker'), names.length > 1);
}

function showNotice(text, kind = '') {
  setVisible(byId('note'), text !== null);
  byId('note').className = `note ${kind}`;
  setText(byId('note'), text ?? '');
}

// Returns a notice about the shown problem, or null.
function problemNotice(name) {
  const wanted = problemInUrl();
  if (problems && name === null) {
    return 'No problem has been defined yet. Define one with POST /v1/problems or belated.Client.';
  }
  return wanted && name !== null && wanted !== name
    ? `Problem ‘${wanted}’ not found; showing ‘${name}’.` : null;
}

function showError(error) {
  if (error.status === 401) {
    view = emptyView(null);
    showServiceState('busy', 'Token required');
    showNotice(null);
    forms.askForToken();
    return;
  }
  if (!(error instanceof UnreachableError || error instanceof ApiError)) console.error(error);
  const age = formatAgo((Date.now() - lastResponseAt) / 1000);
  const since = lastResponseAt && view.status ? ` Last update: ${age}.` : '';
  const unreachable = error instanceof UnreachableError;
  showServiceState('bad', unreachable ? 'Unreachable' : 'Error');
  showNotice(`${withPeriod(error.message)}${unreachable ? ' Retrying.' : ''}${since}`, 'bad');
  if ([403, 404].includes(error.status) && !forms.changing) {
    forms.show(problems || problemsListedAt === 0 ? null : 'name-form');
  }
  setVisible(byId('token-change'), getToken() !== null);
}

byId('policy-back').addEventListener('click', () => showVersion(null));
byId('problems').addEventListener('change', () => {
  location.hash = encodeURIComponent(byId('problems').value);
});
addEventListener('hashchange', () => scheduleRefresh(0));
document.addEventListener('visibilitychange', () => { if (!document.hidden) scheduleRefresh(0); });
refresh();
