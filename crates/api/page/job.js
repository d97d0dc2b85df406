// One job: who has returned, what, and where those that still run are.

import { oneJob } from "./api.js";
import { withoutText } from "./away.js";
import { button, debounced, el, fill, perFrame } from "./dom.js";
import { counted, hasFailed, isStateRun, mark, shownReturn } from "./results.js";
import { mayLocal, mayRunner } from "./rights.js";
import { listen, recentEvents } from "./stream.js";
import { typedArguments, typedTarget } from "./target.js";
import { T } from "./texts.js";

const SHOWN_MAX = 200;
const STARTED_MAX = 50;
const READ_AFTER_MS = 2000;

// Jobs that were started here, as far as this page knows them by itself: who may
// command need not be allowed to read the job cache.
const started = new Map();

export function noteStarted(jid, job) {
  started.set(jid, job);
  if (started.size > STARTED_MAX) started.delete(started.keys().next().value);
}

export function jobView(place, jid, again) {
  const own = started.get(jid);
  const job = { fun: "", args: [], tgt: "*", kind: "glob", user: "", minions: [], ...own };
  const results = new Map();
  const places = new Map();
  const open = new Map();
  let onlyFailed = false;
  const note = el("p", { class: "note", role: "status" });
  const head = el("div", { class: "panel" });
  const bar = el("div");
  const list = el("div", { class: "results" });
  const failedOnly = button(T.onlyFailed, () => {
    onlyFailed = !onlyFailed;
    failedOnly.setAttribute("aria-pressed", String(onlyFailed));
    draw();
  }, { "aria-pressed": "false", class: "tab" });
  const repeat = button(T.runAgain, () => again(job));

  const draw = perFrame(() => {
    repeat.hidden = !mayLocal(job.fun) || /^(runner|wheel)\./.test(job.fun);
    fill(head, el("p", {}, el("code", {}, `salt ${typedTarget(job.tgt, job.kind)} ${job.fun} ${typedArguments(job.args)}`.trim())),
      el("p", { class: "muted" }, T.jobFacts(jid, job.user)));
    const meant = new Set([...job.minions, ...results.keys()]);
    const failed = [...results.values()].filter(({ isBad }) => isBad).length;
    const done = results.size;
    const progress = el("progress", { max: Math.max(1, meant.size), value: done, "aria-label": T.returned });
    fill(bar, el("div", { class: "row" }, progress, T.jobProgress(done, meant.size, failed)));
    const ids = [...meant].filter((id) => !onlyFailed || results.get(id)?.isBad);
    // What failed first, then what runs.
    const rank = (id) => (results.has(id) ? (results.get(id).isBad ? 0 : 2) : 1);
    ids.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
    const left = ids.length - SHOWN_MAX;
    fill(list, ids.slice(0, SHOWN_MAX).map(item), left > 0 && el("p", { class: "muted" }, T.more(left)));
  });

  function item(id) {
    const result = results.get(id);
    if (!result) {
      const at = places.get(id);
      const words = at ? T.stateAt(at.n, at.len, at.id, at.fun) : T.waiting;
      return el("div", { class: "result waits" }, mark("changed"), " ", el("b", {}, id), " ", el("span", { class: "muted" }, words),
        at && el("progress", { max: at.len, value: at.n, "aria-label": words }));
    }
    const { isBad, counts } = result;
    const words = counts ? T.stateCounts(counts.succeeded, counts.changed, counts.failed) : oneLine(result.value);
    // Who opened it, or the only one, sees it at once.
    const isOpen = open.get(id) ?? job.minions.length <= 1;
    const details = el("details", { class: "result", open: isOpen },
      el("summary", {}, mark(isBad ? "bad" : counts?.changed ? "changed" : "good"), " ", el("b", {}, id), " ", el("span", { class: "muted" }, words)));
    const show = () => details.append(result.shown ??= shownReturn(result.value));
    if (isOpen) show();
    details.addEventListener("toggle", () => {
      open.set(id, details.open);
      if (details.open) show();
    });
    return details;
  }

  async function read() {
    if (!mayRunner("jobs.list_job")) return;
    try {
      const { job: said, without } = await oneJob(jid);
      if (said.Error) {
        note.textContent = own ? "" : said.Error;
        return;
      }
      Object.assign(job, { fun: String(said.Function), args: said.Arguments ?? [], tgt: said.Target, kind: said["Target-type"], user: said.User, minions: said.Minions ?? job.minions });
      for (const [id, result] of Object.entries(said.Result ?? {})) if (!results.has(id)) results.set(id, judged(result));
      note.textContent = withoutText(without);
      draw();
    } catch (error) {
      note.textContent = error.message;
    }
  }

  // Takes an event of this job; whether it was one.
  function take({ tag, data }) {
    const prefix = `salt/job/${jid}/`;
    if (!tag.startsWith(prefix)) return false;
    const [what, ...rest] = tag.slice(prefix.length).split("/");
    const id = rest.join("/");
    if (what === "new") {
      Object.assign(job, { fun: String(data.fun), args: data.arg ?? [], tgt: data.tgt, kind: data.tgt_type, user: data.user, minions: data.minions ?? job.minions });
    } else if (what === "ret") {
      results.set(id, judged(data));
      places.delete(id);
    } else if (what === "at") {
      const { n, len, id: state, fun } = data.data ?? data;
      places.set(id, { n: Number(n) || 0, len: Number(len) || 1, id: String(state), fun: String(fun) });
    }
    return true;
  }

  const later = debounced(read, READ_AFTER_MS);
  recentEvents().forEach(take);
  const stop = listen((event) => {
    if (!take(event)) return;
    draw();
    later();
  });
  fill(place, el("p", {}, el("a", { href: "#/jobs" }, `← ${T.jobs}`)), el("h1", {}, T.job(jid)), head, note, bar,
    el("div", { class: "row bar" }, failedOnly, repeat), list);
  draw();
  read();
  return () => {
    stop();
    later.cancel();
    draw.cancel();
  };
}

// A return with what is seen of it again and again: a run may have thousands of states.
function judged(result) {
  const counts = isStateRun(result.return) ? counted(result.return) : null;
  return { value: result.return, counts, isBad: hasFailed(result) };
}

// A return in a few words.
function oneLine(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "";
  const line = text.split("\n", 1)[0];
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}
