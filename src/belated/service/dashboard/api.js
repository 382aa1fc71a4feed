// Requests to the service. The token is stored in the sessionStorage of this tab only.

const TOKEN_KEY = 'belated-token';
const REQUEST_TIMEOUT_MS = 30e3;

class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

class UnreachableError extends Error {}

function getToken() {
  return sessionStorage.getItem(TOKEN_KEY);
}

// Returns whether the token was stored. Other characters would make fetch fail.
function storeToken(text) {
  if (!/^[\x21-\x7e]+$/.test(text)) return false;
  sessionStorage.setItem(TOKEN_KEY, text);
  return true;
}

async function sendRequest(path, options = {}) {
  try {
    return await fetch(path, {...options, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS)});
  } catch {
    throw new UnreachableError('The service does not respond.');
  }
}

async function request(path, body) {
  const headers = {};
  if (getToken()) headers.Authorization = `Bearer ${getToken()}`;
  if (body) headers['Content-Type'] = 'application/json';
  const method = body === undefined ? 'GET' : 'POST';
  const response = await sendRequest(path, {
    method, headers, body: body ? JSON.stringify(body) : undefined,
  });
  const content = await response.json().catch(() => null);
  if (response.ok && content) return content;
  throw new ApiError(response.status, content?.message ?? `The service answered ${response.status}.`);
}

function problemPath(problem, rest = '') {
  return `v1/problems/${encodeURIComponent(problem)}${rest}`;
}

// Returns null for a route that an older service does not have.
async function requestIfExists(path) {
  try {
    return await request(path);
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

// A service that is not ready answers with a 503 and the reason.
async function fetchReadiness() {
  const response = await sendRequest('readyz');
  return response.json().catch(() => ({ready: false}));
}
