// Why: the reasons for which one minion is silent, over time; and a time line of
// the connections of all that came or went.

import { local } from "./api.js";
import { button, el, every, fill, perFrame, svg } from "./dom.js";
import { connectionMark, connectionText, mayFleet, minionRows } from "./fleet.js";
import { mayHistory, readHistory } from "./history.js";
import { mark, tree } from "./results.js";
import { mayLocal, mayRunner } from "./rights.js";
import { connectionsOf, listen, minionsWithChanges, recentEvents } from "./stream.js";
import { T } from "./texts.js";

const ASK_EVERY_MS = 30_000;
const ASKS_MAX = 100;
const ROWS_MAX = 60;
const SPANS_MIN = [15, 60, 360, 1440];

// What came of the questions so far, by minion, so that it outlives the view.
const asked = new Map();
const ASKED_MINIONS_MAX = 200;

export const mayWhy = () => mayLocal("test.ping") || mayFleet();

export function whyView(place, id) {
  return id ? oneMinion(place, id) : timeline(place);
}

function oneMinion(place, id) {
  const facts = el("div", { class: "panel" });
  const history = el("ol", { class: "history", "aria-label": T.history });
  const seen = el("ol", { class: "history", "aria-label": T.seen });
  const heard = el("ol", { class: "events" });
  const line = el("div", { class: "timeline" });
  const meant = { tgt: [id], tgt_type: "list" };

  function record(isGood, text) {
    if (!asked.has(id) && asked.size >= ASKED_MINIONS_MAX) asked.delete(asked.keys().next().value);
    const said = asked.get(id) ?? [];
    const last = said.at(-1);
    if (last?.text === text) Object.assign(last, { until: Date.now(), times: last.times + 1 });
    else said.push({ isGood, text, at: Date.now(), until: Date.now(), times: 1 });
    if (said.length > ASKS_MAX) said.shift();
    asked.set(id, said);
    fill(history, [...said].reverse().map((one) => el("li", {}, mark(one.isGood ? "good" : "bad"), " ",
      el("time", { class: "muted" }, T.span(one.at, one.until, one.times)), el("pre", { class: "text" }, one.text))));
  }

  async function ping() {
    if (!mayLocal("test.ping")) return;
    try {
      const said = (await local(meant, "test.ping", [], { timeout: 5 }))[id];
      record(said === true, said === true ? T.answers : said === undefined ? T.notTargeted : String(said));
    } catch (error) {
      record(false, error.message);
    }
  }

  async function look() {
    if (!mayRunner("minions.status")) return;
    try {
      const row = (await minionRows(meant)).rows.get(id);
      if (!row) fill(facts, el("p", {}, T.notAccepted));
      else fill(facts, el("p", {}, connectionMark(row), " ", el("b", {}, connectionText(row)), " ", T.sinceText(row.since)), tree(factsOf(row)));
    } catch (error) {
      facts.textContent = error.message;
    }
    drawLine();
  }

  async function remember() {
    if (!mayHistory()) return;
    try {
      const rows = (await readHistory(id)).get(id) ?? [];
      fill(seen, rows.length === 0 && el("li", { class: "muted" }, T.noHistory), rows.reverse().map((row) =>
        el("li", {}, mark(CHANGE_MARKS[row.change] ?? "bad"), " ",
          el("time", { class: "muted" }, T.spanAt(row.at, row.until ?? row.at, row.times ?? 1)), " ", T.change(row))));
    } catch (error) {
      fill(seen, el("li", { class: "muted" }, error.message));
    }
    drawLine();
  }

  const again = () => Promise.all([look(), remember(), ping()]);
  const drawLine = () => fill(line, lanes([id], 60));
  const drawHeard = perFrame(() => {
    const own = recentEvents().filter(({ tag, data }) => tag.split("/").includes(id) || data?.id === id);
    fill(heard, own.slice(-20).reverse().map((event) => el("li", {}, el("details", {}, el("summary", {}, el("time", { class: "muted" }, T.clock(event.at)), " ", el("code", {}, event.tag)), tree(event.data)))));
  });
  fill(place, el("p", {}, el("a", { href: "#/why" }, `← ${T.why}`)), el("h1", {}, id),
    el("div", { class: "row bar" }, button(T.askNow, again, { class: "primary" }), el("span", { class: "muted" }, T.askedAgain)),
    facts, line, mayHistory() && [el("h2", {}, T.seen), seen], el("h2", {}, T.history), history, el("h2", {}, T.itsEvents), heard);
  if (!mayRunner("minions.status")) facts.remove();
  const stop = listen(({ tag, data }) => {
    drawHeard();
    if (tag === "salt/presence/change" && [...(data.new ?? []), ...(data.lost ?? [])].includes(id)) remember();
  });
  const stopAsking = every(ASK_EVERY_MS, again);
  again();
  drawLine();
  drawHeard();
  return () => {
    stop();
    stopAsking();
    drawHeard.cancel();
  };
}

// How it is marked what has become of a minion; whatever else is bad.
const CHANGE_MARKS = { connected: "good", signed_in: "good" };

function factsOf(row) {
  const { id, connected, proven, since, ...rest } = row;
  return Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null && value?.length !== 0));
}

function timeline(place) {
  let minutes = 60;
  const chart = el("div", { class: "timeline" });
  const spans = el("div", { class: "row tabs" });
  const input = el("input", { id: "filter", class: "grow", placeholder: T.whyHint, "aria-label": T.whyHint, spellcheck: "false", autocapitalize: "none" });
  const form = el("form", { class: "row bar", on: { submit: (event) => {
    event.preventDefault();
    if (input.value.trim()) location.hash = `#/why/${encodeURIComponent(input.value.trim())}`;
  } } }, input, el("button", { type: "submit", class: "primary" }, T.ask));
  const draw = perFrame(() => {
    fill(spans, SPANS_MIN.map((span) => button(T.lastMinutes(span), () => { minutes = span; draw(); }, { class: "tab", "aria-pressed": String(span === minutes) })));
    const ids = minionsWithChanges().slice(0, ROWS_MAX);
    fill(chart, ids.length ? lanes(ids, minutes) : el("p", { class: "muted" }, T.noChanges));
  });
  fill(place, el("h1", {}, T.why), form, el("h2", {}, T.timeline), el("p", { class: "muted" }, T.timelineNote), spans, chart);
  const stop = listen(({ tag }) => /^salt\/(presence\/change|minion\/[^/]+\/start)$/.test(tag) && draw());
  const stopDrawing = every(10_000, draw);
  // What was before this page was opened, as far as the master knows.
  const remember = async () => {
    if (mayRunner("minions.status")) await minionRows({ tgt: "*", tgt_type: "glob" }, false);
    if (mayHistory()) await readHistory();
    draw();
  };
  remember().catch(() => {});
  const stopReading = every(ASK_EVERY_MS, () => remember().catch(() => {}));
  draw();
  return () => {
    stop();
    stopDrawing();
    stopReading();
    draw.cancel();
  };
}

const NAME_PX = 150;
const LANE_PX = 22;
const WIDTH_PX = 900;

// Bars of connections, one lane for each minion.
function lanes(ids, minutes) {
  const end = Date.now();
  const begin = end - minutes * 60_000;
  const x = (at) => NAME_PX + ((Math.max(at, begin) - begin) / (end - begin)) * (WIDTH_PX - NAME_PX);
  const height = ids.length * LANE_PX + 20;
  const bars = ids.flatMap((id, lane) => {
    const known = connectionsOf(id);
    const name = id.length > 20 ? `${id.slice(0, 19)}…` : id;
    const label = svg("text", { x: 0, y: lane * LANE_PX + 15, class: "label" }, name);
    const spans = known.map((change, at) => {
      const until = known[at + 1]?.at ?? end;
      if (until < begin) return null;
      const width = Math.max(2, x(until) - x(change.at));
      const words = T.connectionSpan(id, change.isHere, change.at, until, change.masters);
      const before = known[at - 1];
      const isMove = change.isHere && before?.isHere && change.masters !== before.masters;
      const kind = change.isHere ? (isMove ? "here moved" : "here") : "away";
      return svg("rect", { x: x(change.at), y: lane * LANE_PX + 4, width, height: LANE_PX - 8, rx: 2, class: kind }, svg("title", {}, words));
    });
    return [label, spans];
  });
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const at = begin + part * (end - begin);
    const anchor = part === 0 ? "start" : part === 1 ? "end" : "middle";
    return svg("text", { x: x(at), y: height - 4, class: "tick", "text-anchor": anchor }, T.minute(at));
  });
  return svg("svg", { viewBox: `0 0 ${WIDTH_PX} ${height}`, role: "img", "aria-label": T.timeline }, bars, ticks);
}
