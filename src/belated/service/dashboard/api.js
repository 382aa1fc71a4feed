// The service's own API. A token, where one is needed, lives in this tab's sessionStorage alone.

const TOKEN = 'belated-token';
const PATIENCE = 30e3;

class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

class Away extends Error {}

function token() {
  return sessionStorage.getItem(TOKEN);
}

// Whether it was kept: with another character in a header, fetch would not even ask.
function keepToken(text) {
  if (!/^[\x21-\x7e]+$/.test(text)) return false;
  sessionStorage.setItem(TOKEN, text);
  return true;
}

async function send(path, options = {}) {
  try {
    return await fetch(path, {...options, signal: AbortSignal.timeout(PATIENCE)});
  } catch {
    throw new Away('The service does not answer.');
  }
}

async function ask(path, body) {
  const headers = {};
  if (token()) headers.Authorization = `Bearer ${token()}`;
  if (body) headers['Content-Type'] = 'application/json';
  const method = body === undefined ? 'GET' : 'POST';
  const answer = await send(path, {method, headers, body: body ? JSON.stringify(body) : undefined});
  const said = await answer.json().catch(() => null);
  if (answer.ok && said) return said;
  throw new Refusal(answer.status, said?.message ?? `The service answered ${answer.status}.`);
}

function of(problem, rest = '') {
  return `v1/problems/${encodeURIComponent(problem)}${rest}`;
}

// What an older service does not offer is null.
async function askIfThere(path) {
  try {
    return await ask(path);
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

// It says why it is not ready with a 503.
async function readiness() {
  const answer = await send('readyz');
  return answer.json().catch(() => ({ready: false}));
}
