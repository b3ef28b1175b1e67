// Questions to the service. A token comes once in the address (#token=...) and is kept for this tab only.

/** A text without its percent signs; as it is where they are its own, as in "50%". */
export function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const linked = /^#token=([^&]+)/.exec(location.hash);
if (linked) {
  sessionStorage.setItem("coview-token", decoded(linked[1]));
  history.replaceState(null, "", location.pathname + "#/");
}

export class Problem extends Error {
  constructor(message, status, view = null) {
    super(message);
    this.status = status;
    this.view = view; // what it is about, where it is about one view
  }
}

async function send(path, options = {}) {
  const token = sessionStorage.getItem("coview-token");
  const headers = { ...(options.body ? { "Content-Type": "application/json" } : {}) };
  if (token) headers.Authorization = `Bearer ${token}`;
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The service is not responding. Is it still running?", 0);
  }
  return response;
}

async function ask(path, options) {
  const response = await send(path, options), { status } = response;
  const answer = await response.json().catch(() => { throw new Problem(`The service returned invalid JSON (status ${status}).`, status); });
  if (!response.ok) throw new Problem(answer.error || `The service rejected the request (status ${status}).`, status, answer.view);
  return answer;
}

/** Ask for a file, and let the browser keep it under the name that the service gives it. */
export async function download(path) {
  const response = await send(path, { method: "POST", body: "{}" });
  if (!response.ok) throw new Problem((await response.json().catch(() => ({}))).error || `The service rejected the request (status ${response.status}).`, response.status);
  const name = /filename\*?=(?:utf-8''|")([^"]+)/.exec(response.headers.get("Content-Disposition") || "");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = name ? decoded(name[1]) : "model.coview";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser reads it meanwhile
  return link.download;
}

const answers = new Map();

/** Ask once and remember: a model changes by an edit only, after which all is forgotten. */
export function get(path) {
  if (!answers.has(path)) {
    answers.set(path, ask(path));
    answers.get(path).catch(() => answers.delete(path));
  }
  return answers.get(path);
}

export const forget = () => answers.clear();
export const post = (path, body, signal) => ask(path, { method: "POST", body: JSON.stringify(body), signal });
export const about = () => get("/api/about");
/** A section of what `coview.describe` says of a model; null where it does not apply. */
export const section = (at, name) => get(`/api/describe/${at}/${name}`);
/** Several sections at once, by name. */
export const sections = async (at, ...names) => Object.fromEntries(await Promise.all(names.map(async (name) => [name, await section(at, name)])));
