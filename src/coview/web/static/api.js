// Questions to the service. A token comes once in the address (#token=...) and is kept for this tab only.

const given = /^#token=([^&]+)/.exec(location.hash);
if (given) {
  sessionStorage.setItem("coview-token", decodeURIComponent(given[1]));
  history.replaceState(null, "", location.pathname + "#/");
}

export class Problem extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

async function ask(path, options = {}) {
  const token = sessionStorage.getItem("coview-token");
  const headers = { ...(options.body ? { "Content-Type": "application/json" } : {}) };
  if (token) headers.Authorization = `Bearer ${token}`;
  let answer;
  try {
    answer = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The service is not responding. Is it still running?", 0);
  }
  let found;
  try {
    found = await answer.json();
  } catch {
    throw new Problem(`The service returned invalid JSON (status ${answer.status}).`, answer.status);
  }
  if (!answer.ok) throw new Problem(found.error || `The service rejected the request (status ${answer.status}).`, answer.status);
  return found;
}

const kept = new Map();

/** Ask once and remember: models do not change. */
export function get(path, signal) {
  if (!kept.has(path)) {
    const found = ask(path, { signal });
    kept.set(path, found);
    found.catch(() => kept.delete(path));
  }
  return kept.get(path);
}

export const post = (path, body, signal) => ask(path, { method: "POST", body: JSON.stringify(body), signal });
export const info = () => get("/info");
export const groups = () => get("/api/groups");
