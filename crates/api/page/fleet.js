// Fleet: every minion, how it is connected, and what its last highstate did.

import { connections, local, runner, wheelOfEach } from "./api.js";
import { withoutText } from "./away.js";
import { button, debounced, el, every, fill, perFrame } from "./dom.js";
import { counted, hasFailed, mark } from "./results.js";
import { mayLocal, mayRunner, mayWheel } from "./rights.js";
import { listen, noteConnection } from "./stream.js";
import { Table } from "./table.js";
import { target } from "./target.js";
import { T } from "./texts.js";

const READ_EVERY_MS = 60_000;
const READ_AFTER_KEY_MS = 1500;

export const mayFleet = () => mayRunner("minions.status") || mayRunner("manage.status") || mayLocal("test.version");

// What is known of the minions that a target means, by their ids, and the masters that
// were not asked or do not say. A master of Salt's knows less. Highstates that nobody
// looks at need not be read.
export async function minionRows(meant, highstates = true) {
  if (mayRunner("minions.status")) {
    try {
      const { rows, without } = await connections(meant, highstates);
      return { rows: rowsOf(rows), without };
    } catch (error) {
      if (!/is not available/.test(error.message)) throw error;
    }
  }
  return { rows: await askedRows(meant), without: [] };
}

async function askedRows(meant) {
  const rows = new Map();
  if (mayRunner("manage.status")) {
    const { up, down } = await runner("manage.status", meant);
    for (const id of up) rows.set(id, { id, connected: true });
    for (const id of down) rows.set(id, { id, connected: false });
    return rows;
  }
  const said = await local(meant, "test.version", [], { full_return: true });
  for (const [id, { ret, jid }] of Object.entries(said)) {
    rows.set(id, jid ? { id, connected: true, version: ret } : { id, connected: false, said: ret });
  }
  return rows;
}

function rowsOf(said) {
  const rows = new Map();
  for (const [id, row] of Object.entries(said)) {
    const since = row.since ? Date.parse(row.since) : null;
    if (since && row.connected !== null) noteConnection(id, row.connected, since);
    rows.set(id, { id, ...row, since });
  }
  return rows;
}

export function connectionText(row) {
  if (row.clones?.length) return T.severalMachines(row.clones.length);
  if (row.trusts_another_since) return T.trustsAnother;
  if (row.key && row.key !== "accepted") return T.keyIs(row.key);
  if (row.connected === true) return row.proven === false ? T.perhapsConnected : T.connected;
  if (row.connected === false) return row.proven === false ? T.perhapsAway : T.notConnected;
  return T.unknown;
}

export function connectionMark(row) {
  if (row.clones?.length || row.trusts_another_since) return mark("bad");
  if (row.connected === true) return mark("good");
  return mark(row.connected === false ? "bad" : "changed");
}

// The masters that it is connected to.
const mastersText = (row) => (row.connected === true && row.masters?.length > 0 ? row.masters.join(", ") : "–");

// Whether a minion may be connected to another master than the one that an event is of.
function isShared({ rows, without }) {
  const names = new Set([...rows.values()].flatMap((row) => row.masters ?? []));
  return names.size > 1 || without.length > 0;
}

// Whether one has come of whom no master is known, or who was connected before: then to
// another master.
const comesAnew = (rows, data) => (data.new ?? []).some((id) => {
  const row = rows.get(id);
  return row && (row.connected === true || !(row.masters?.length > 0));
});

// Whether an event says that more is to be known of connections than it tells itself. Who
// comes to a second master of a cluster is no change of presence, but has signed in.
function asksForMore(state, tag, data) {
  if (tag === "salt/presence/change") return isShared(state) || comesAnew(state.rows, data);
  if (tag === "salt/auth") return data.result === true && state.rows.get(data.id)?.connected === true;
  return tag === "salt/key" || tag.startsWith("salt/netapi/master/");
}

function highstateCell({ highstate }) {
  if (!highstate) return el("span", { class: "muted" }, "–");
  const kind = !highstate.ok ? "bad" : highstate.changed ? "changed" : "good";
  const text = T.stateCounts(highstate.succeeded, highstate.changed, highstate.failed);
  return el("a", { href: `#/jobs/${encodeURIComponent(highstate.jid)}`, title: T.jidTime(highstate.jid) },
    mark(kind), " ", text, highstate.test ? ` (${T.test})` : "");
}

export function fleetView(place, typed) {
  const state = { rows: new Map(), without: [], asked: 0 };
  const input = el("input", {
    type: "search", id: "filter", class: "grow", value: typed ?? "", placeholder: T.targetHint,
    "aria-label": T.targetLabel, autocomplete: "off", spellcheck: "false", autocapitalize: "none",
  });
  const note = el("p", { class: "note", role: "status" });
  const summary = el("div", { class: "tiles" });
  const table = new Table({
    label: T.fleet,
    empty: T.noMinions,
    open: (row) => (location.hash = `#/why/${encodeURIComponent(row.id)}`),
    columns: [
      { key: "id", title: T.minion, class: "name", sort: (row) => row.id,
        cell: (row) => [connectionMark(row), " ", el("a", { href: `#/why/${encodeURIComponent(row.id)}` }, row.id)] },
      { key: "connection", title: T.connection, sort: connectionText, cell: connectionText },
      { key: "masters", title: T.masters, class: "wide", sort: mastersText, cell: mastersText },
      { key: "since", title: T.since, class: "wide", sort: (row) => row.since ?? 0, cell: (row) => T.ago(row.since) },
      { key: "version", title: T.version, class: "wide", sort: (row) => String(row.version ?? ""), cell: (row) => row.version ?? "–" },
      { key: "highstate", title: T.lastHighstate, class: "name", sort: (row) => (row.highstate ? row.highstate.failed * 1e6 + row.highstate.changed : -1), cell: highstateCell },
    ],
  });

  const draw = perFrame(() => {
    const rows = [...state.rows.values()];
    table.setRows(rows);
    const count = (is) => rows.filter(is).length;
    const tile = (name, number, kind) => el("div", { class: `tile ${kind}` }, el("b", {}, number), " ", name);
    fill(summary,
      tile(T.minions, rows.length, ""),
      tile(T.connected, count((row) => row.connected === true), "good"),
      tile(T.notConnected, count((row) => row.connected === false), count((row) => row.connected === false) ? "bad" : ""),
      tile(T.changedLast, count((row) => row.highstate?.changed), ""),
      tile(T.failedLast, count((row) => row.highstate && !row.highstate.ok), count((row) => row.highstate && !row.highstate.ok) ? "bad" : ""));
  });

  // The answer to the newest question counts.
  async function read() {
    const asked = (state.asked += 1);
    note.textContent = state.rows.size ? "" : T.reading;
    try {
      const found = await minionRows(target(input.value));
      if (asked !== state.asked) return;
      Object.assign(state, found);
      showNote();
      draw();
      await waiting();
    } catch (error) {
      if (asked === state.asked) note.textContent = error.message;
    }
  }

  // How many keys wait, at any master, where one may know.
  async function waiting() {
    if (!mayWheel("key.list_all")) return;
    const keys = await wheelOfEach("key.list_all");
    const ids = [...keys.values()].flatMap(({ value }) => value?.minions_pre ?? []);
    showNote(new Set(ids).size);
  }

  function showNote(keysWaiting = 0) {
    fill(note, keysWaiting > 0 && [el("a", { href: "#/keys" }, T.keysWait(keysWaiting)), " "],
      withoutText(state.without));
  }

  const later = debounced(read, READ_AFTER_KEY_MS);
  const form = el("form", { class: "row bar", on: { submit: (event) => { event.preventDefault(); read(); } } },
    input, el("button", { type: "submit", class: "primary" }, T.show), button(T.everyone, () => { input.value = ""; read(); }));
  input.addEventListener("input", debounced(() => input.value === "" && read(), 300));
  fill(place, el("h1", {}, T.fleet), form, summary, note, table.element);

  const stop = listen(({ tag, data, at }) => {
    // As the rows were before it.
    const isMore = asksForMore(state, tag, data);
    if (applied(state.rows, tag, data, at)) draw();
    if (isMore) later();
  });
  const stopReading = every(READ_EVERY_MS, read);
  // Ages are texts: they grow.
  const stopAges = every(10_000, draw);
  read();
  return () => {
    stop();
    stopReading();
    stopAges();
    later.cancel();
    draw.cancel();
    table.close();
  };
}

// Brings rows up to date with an event; whether it concerned any.
function applied(rows, tag, data, at) {
  if (tag === "salt/presence/change") {
    // Who leaves one of several masters is asked about.
    const isMeant = (connected) => (id) => rows.has(id) && (connected || !(rows.get(id).masters?.length > 1));
    const set = (ids, connected) => (ids ?? []).filter(isMeant(connected)).map((id) => {
      Object.assign(rows.get(id), { connected, since: at, proven: true });
    }).length;
    return set(data.new, true) + set(data.lost, false) > 0;
  }
  const start = /^salt\/minion\/([^/]+)\/start$/.exec(tag);
  if (start && rows.has(start[1])) {
    const row = rows.get(start[1]);
    if (!row.connected) Object.assign(row, { connected: true, since: at });
    return true;
  }
  const ret = /^salt\/job\/(\d+)\/ret\/(.+)$/.exec(tag);
  if (!ret || !rows.has(ret[2]) || !isHighstate(data)) return false;
  const test = (data.fun_args ?? []).some((arg) => arg?.test === true);
  rows.get(ret[2]).highstate = { jid: ret[1], ok: !hasFailed(data), test, ...counted(data.return) };
  return true;
}

function isHighstate({ fun, fun_args: args }) {
  if (fun === "state.highstate") return true;
  return fun === "state.apply" && (args ?? []).every((arg) => arg && typeof arg === "object" && !arg.mods);
}
