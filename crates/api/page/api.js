// The public REST API, with the session of who looks at the page. The session's
// secret is in a cookie that scripts cannot read. All tabs share that cookie, and so
// they share what is known of the session.

import { setAway } from "./away.js";
import { T } from "./texts.js";

const ROOT = new URL("../", document.baseURI);
const KEPT = "halite-session";
const AWAY = "Halite-Masters-Away";

export const EVENTS = new URL("events", ROOT).href;

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// Who has logged in, without the secret; null for nobody.
export function session() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT));
    return kept && kept.expire * 1000 > Date.now() ? kept : null;
  } catch {
    return null;
  }
}

export function forget() {
  localStorage.removeItem(KEPT);
}

// Calls `work` when another tab has logged in or out.
export function onOtherTab(work) {
  addEventListener("storage", ({ key }) => (key === KEPT || key === null) && work());
}

export async function login(username, password, eauth) {
  const said = await post("login", { username, password, eauth });
  const { user, perms, expire } = said.return[0];
  localStorage.setItem(KEPT, JSON.stringify({ user, eauth, perms, expire }));
}

// Ends the session; an error while it may still be good.
export async function logout() {
  try {
    await post("logout", {});
  } catch (error) {
    if (error.status !== 401) throw error;
  }
  forget();
}

// Looks whether the session is still good: a stream does not say why it has ended.
export async function checkSession() {
  try {
    await ask("events", { method: "HEAD" });
  } catch (error) {
    if (error.status === 401 && session()) endSession();
  }
}

function endSession() {
  forget();
  dispatchEvent(new Event("session-ended"));
}

export async function stats() {
  return (await ask("stats")).json();
}

// What has become of the connections of all minions, or of one, as all masters know.
export async function history(id) {
  const said = await ask(id ? `history/${encodeURIComponent(id)}` : "history");
  const [found] = (await said.json()).return;
  if (found?.minions) return found;
  throw new ApiError(500, asText(found));
}

// What all masters know of the minions that a target means, by their ids; and the names
// of the masters whose answer that is without.
export async function connections({ tgt, tgt_type: kind }, highstates) {
  const asked = new URLSearchParams({ tgt: [tgt].flat().join(","), tgt_type: kind, highstates });
  const said = await ask(`connections?${asked}`);
  const [rows] = (await said.json()).return;
  if (typeof rows === "object" && rows !== null) return { rows, without: namesAway(said) };
  throw new ApiError(500, asText(rows));
}

// The newest jobs of all masters, by their ids; and the masters that they are without.
export async function newestJobs(count) {
  const said = await ask(`jobs?count=${count}`);
  const [jobs] = (await said.json()).return;
  if (typeof jobs === "object" && jobs !== null) return { jobs, without: namesAway(said) };
  throw new ApiError(500, asText(jobs));
}

// What the masters know of one job, with the results of all; and the masters that it is
// without.
export async function oneJob(jid) {
  const said = await ask(`jobs/${encodeURIComponent(jid)}`);
  const [job] = (await said.json()).info;
  if (typeof job === "object" && job !== null) return { job, without: namesAway(said) };
  throw new ApiError(500, asText(job));
}

const namesAway = (response) => (response.headers.get(AWAY) ?? "").split(", ").filter(Boolean);

async function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  const response = await ask(path, { method: "POST", headers, body: JSON.stringify(body) });
  // The answer to a command names all masters that are known to be away.
  if (path === "") setAway(namesAway(response));
  return response.json();
}

async function ask(path, options = {}) {
  let response;
  try {
    const headers = { Accept: "application/json", ...options.headers };
    response = await fetch(new URL(path, ROOT), { ...options, headers, redirect: "error" });
  } catch {
    throw new ApiError(0, T.unreachable);
  }
  if (response.ok) return response;
  const reason = said(await response.text()) || response.statusText;
  if (response.status === 401 && reason.startsWith("No permission") && session()) endSession();
  throw new ApiError(response.status, reason);
}

// The reason in an error page, which is HTML. It is shown as text.
function said(page) {
  const found = /<p>([\s\S]*?)<\/p>/.exec(page);
  const text = found ? found[1] : page.slice(0, 300);
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

async function one(chunk) {
  return (await post("", [chunk])).return[0];
}

// What a runner returns; an error if it failed.
export async function runner(fun, kwarg = {}, arg = []) {
  const { data } = await one({ client: "runner", fun, arg, kwarg, full_return: true });
  return good(data);
}

// What a runner returns at each master, or at these: by the masters' names `{value}`, or
// `{error}` with why there is none.
export async function runnerOfEach(fun, kwarg = {}, masters = []) {
  return ofEach({ client: "runner", fun, kwarg, full_return: true }, masters);
}

// The same of a wheel function.
export async function wheelOfEach(fun, kwarg = {}, masters = []) {
  return ofEach({ client: "wheel", fun, ...kwarg }, masters);
}

async function ofEach(chunk, masters) {
  const query = masters.length > 0 ? `?${new URLSearchParams({ masters: masters.join(",") })}` : "";
  const [said] = (await post(`masters${query}`, [chunk])).return;
  return new Map(Object.entries(said).map(([master, { return: returned, error }]) => {
    try {
      return [master, error === undefined ? { value: good(returned.data) } : { error }];
    } catch (failed) {
      return [master, { error: failed.message }];
    }
  }));
}

// What was returned; where it says of itself that it failed, it is in the error.
function good({ success, return: value }) {
  if (success !== false) return value;
  const error = new ApiError(500, asText(value));
  error.value = value;
  throw error;
}

// What minions return, by their ids.
export function local(target, fun, arg = [], options = {}) {
  return one({ client: "local", ...target, fun, arg, ...options });
}

// Starts a job; its id, and who it is for.
export async function start(target, fun, arg = [], kwarg = {}) {
  const job = await one({ client: "local_async", ...target, fun, arg, kwarg, progress: true });
  if (!job?.jid) throw new ApiError(0, T.nobody);
  return job;
}

// What a function says of its failure, without the words before it that name the
// function.
function asText(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.trim().replace(/^Exception occurred in (runner|wheel) [\w.]+: /, "");
}
