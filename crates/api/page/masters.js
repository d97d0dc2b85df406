// Masters: whether they agree, are linked, and can store what they should.

import { runner, runnerOfEach, stats } from "./api.js";
import { el, every, fill, svg } from "./dom.js";
import { losses, mayHistory, readHistory } from "./history.js";
import { mark, tree } from "./results.js";
import { mayRunner } from "./rights.js";
import { T } from "./texts.js";

const READ_EVERY_MS = 15_000;
const COMPARE_EVERY_MS = 30_000;
const HISTORY_EVERY_MS = 60_000;
const COMPARE_WITHIN_S = 10;
const KEPT = "halite-masters";

const SHOWN = ["cluster.status", "cluster.members", "store.status", "masters.compare", "jobs.master", "queue.list_queues", "minions.history"];

const QUESTIONS = [...SHOWN, "queue.list_length"];

export const mayMasters = () => SHOWN.some(mayRunner);

export function mastersView(place) {
  const stops = [];
  const panels = el("div", { class: "panels" });
  fill(place, el("h1", {}, T.masters), panels);
  const panel = (title, read, ms) => {
    const body = el("div", {}, el("p", { class: "muted" }, T.reading));
    panels.append(el("section", { class: "panel" }, el("h2", {}, title), body));
    let isReading = false;
    const again = async () => {
      if (isReading) return;
      isReading = true;
      try {
        fill(body, await read());
      } catch (error) {
        fill(body, el("p", { class: "muted" }, error.message));
      }
      isReading = false;
    };
    again();
    stops.push(every(ms, again));
    return again;
  };
  const readMasters = panel(T.ofApi, mastersOfApi, READ_EVERY_MS);
  addEventListener("masters-away", readMasters);
  stops.push(() => removeEventListener("masters-away", readMasters));
  if (mayRunner("masters.compare")) compare(panel);
  if (mayHistory()) panel(T.losses, connections, HISTORY_EVERY_MS);
  if (mayRunner("cluster.status")) panel(T.cluster, () => atEach("cluster.status", cluster), READ_EVERY_MS);
  if (mayRunner("store.status")) panel(T.stores, () => atEach("store.status", stores), READ_EVERY_MS);
  if (mayRunner("jobs.master")) panel(T.runnersNow, () => atEach("jobs.master", runners), READ_EVERY_MS);
  if (mayRunner("queue.list_queues")) panel(T.queues, () => atEach("queue.list_queues", queues), READ_EVERY_MS);
  panel(T.api, async () => {
    const { masters: _, ...counts } = await stats();
    return tree(counts);
  }, READ_EVERY_MS);
  return () => stops.forEach((stop) => stop());
}

// Compares with the masters that are typed, now and from then on.
function compare(panel) {
  const names = el("input", {
    class: "grow", id: "filter", value: localStorage.getItem(KEPT) ?? "", placeholder: T.mastersHint,
    "aria-label": T.mastersLabel, autocomplete: "off", spellcheck: "false",
  });
  const rows = el("div");
  const typed = () => names.value.split(/[\s,]+/).filter(Boolean);
  const read = async () => {
    if (typed().length === 0) {
      fill(rows, el("p", { class: "muted" }, T.nameMasters));
      return form;
    }
    // Where masters differ it has failed, and its rows say where.
    const said = await runner("masters.compare", { timeout: COMPARE_WITHIN_S }, typed()).catch((error) => error.value ?? error);
    const differences = said?.data ?? said;
    const shown = Array.isArray(differences) ? agreement(differences) : el("p", { class: "bad" }, said.message ?? String(said));
    fill(rows, shown);
    return form;
  };
  const form = el("form", {}, el("div", { class: "row bar" }, names, el("button", { type: "submit" }, T.compare)), rows);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    localStorage.setItem(KEPT, names.value);
    again();
  });
  const again = panel(T.agreement, read, COMPARE_EVERY_MS);
}

function agreement(said) {
  return el("table", {},
    el("thead", {}, el("tr", {}, [T.master, T.topic, T.difference].map((name) => el("th", {}, name)))),
    el("tbody", {}, said.map((row) => el("tr", {},
      el("td", {}, mark(row.agree ? "good" : "bad"), " ", row.master), el("td", {}, row.topic), el("td", {}, row.difference)))));
}

// The master of this machine and those of `other_masters`.
async function mastersOfApi() {
  const { masters } = await stats();
  const rows = Object.entries(masters ?? {}).map(([name, { away }]) => el("tr", {},
    el("td", {}, mark(away ? "bad" : "good"), " ", name), el("td", {}, away ?? T.reached)));
  return el("table", {}, el("tbody", {}, rows));
}

// What a runner returns at each master, as it is shown, below the masters' names where
// there are several.
async function atEach(fun, shown) {
  const all = [...(await runnerOfEach(fun))];
  return Promise.all(all.map(async ([master, { value, error }]) => {
    const muted = (why) => el("p", { class: "muted" }, why);
    const body = error === undefined ? await shown(value, master).catch((failed) => muted(failed.message)) : muted(error);
    return all.length > 1 ? [el("h3", {}, master), body] : body;
  }));
}

// What a runner returns at one master.
async function runnerAt(master, fun, kwarg = {}) {
  const { value, error } = (await runnerOfEach(fun, kwarg, [master])).get(master);
  if (error !== undefined) throw new Error(error);
  return value;
}

async function cluster(status, master) {
  const known = mayRunner("cluster.members") ? (await runnerAt(master, "cluster.members")).members : {};
  const rows = Object.entries(known).map(([name, member]) => el("tr", {},
    el("td", {}, mark(member.connected ? "good" : "bad"), " ", name),
    el("td", {}, member.address ?? "–"),
    el("td", {}, member.connected ? T.connected : T.notConnected),
    el("td", {}, T.behind(member.behind))));
  return [rows.length > 0 && el("table", {}, el("tbody", {}, rows)), tree(status)];
}

const LOSS_HOURS = 6;
const LOSS_BARS = 72;
const LOSSES_LISTED = 12;

// Disconnections and failovers of all minions, as bars over the last hours, and the
// newest of them.
async function connections() {
  const end = Date.now();
  const span = LOSS_HOURS * 3_600_000;
  const all = losses(await readHistory()).filter(({ at }) => at > end - span);
  const moved = all.filter(({ isMove }) => isMove).length;
  const counts = Array.from({ length: LOSS_BARS }, () => ({ lost: 0, moved: 0 }));
  for (const { at, isMove } of all) {
    const bar = Math.min(LOSS_BARS - 1, Math.max(0, Math.floor(((at - end + span) / span) * LOSS_BARS)));
    counts[bar][isMove ? "moved" : "lost"] += 1;
  }
  const most = Math.max(1, ...counts.map((bar) => bar.lost + bar.moved));
  const bars = counts.flatMap((bar, at) => {
    const scale = (count) => (count / most) * 50;
    const rect = (count, below, kind) => count > 0 && svg("rect", { x: at * 5, y: 55 - scale(below + count), width: 4, height: scale(count), class: kind });
    return [rect(bar.lost, 0, "away"), rect(bar.moved, bar.lost, "change")];
  });
  const words = T.lossCount(all.length - moved, moved, LOSS_HOURS);
  const rows = all.slice(0, LOSSES_LISTED).map((loss) => el("tr", {},
    el("td", {}, el("time", { class: "muted" }, T.clock(loss.at))),
    el("td", {}, el("a", { href: `#/why/${encodeURIComponent(loss.id)}` }, loss.id)),
    el("td", {}, mark(loss.isMove ? "changed" : "bad"), " ", loss.isMove ? T.moved(loss.from, loss.master) : T.lost(loss.master))));
  return [el("p", {}, words),
    el("div", { class: "timeline losses" }, svg("svg", { viewBox: `0 0 ${LOSS_BARS * 5} 56`, preserveAspectRatio: "none", role: "img", "aria-label": words }, bars)),
    el("table", {}, el("tbody", {}, rows))];
}

async function stores(said) {
  const rows = Object.entries(said).filter(([, row]) => row && !Array.isArray(row)).map(([role, row]) => {
    const { place, waiting, ...rest } = row;
    const isThere = row.available !== false;
    return el("tr", {}, el("td", {}, mark(isThere ? "good" : "bad"), " ", role), el("td", {}, String(place ?? row.store ?? "")),
      el("td", {}, waiting ? tree(waiting) : isThere ? "" : tree(rest)));
  });
  return [el("table", {}, el("tbody", {}, rows)), said.events && tree(said.events)];
}

async function runners(said) {
  // The questions of this page are runners, too.
  const others = Object.values(said ?? {}).filter(({ fun }) => !QUESTIONS.includes(String(fun).replace("runner.", "")));
  return others.length === 0 ? el("p", { class: "muted" }, T.none) : tree(others);
}

async function queues(names, master) {
  if (!Array.isArray(names) || names.length === 0) return el("p", { class: "muted" }, T.none);
  if (!mayRunner("queue.list_length")) return tree(names);
  const lengths = await Promise.all(names.map((queue) => runnerAt(master, "queue.list_length", { queue })));
  return el("table", {}, el("tbody", {}, names.map((name, at) => el("tr", {}, el("td", {}, name), el("td", {}, String(lengths[at]))))));
}

