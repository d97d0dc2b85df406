// Keys: accept, reject and delete them, with the fingerprint beside the one that
// the minion shows. Each master has keys of its own: what is the same at several is one
// row, and an action is for the masters of its row.

import { local, wheelOfEach } from "./api.js";
import { mastersAway } from "./away.js";
import { button, confirmed, debounced, el, fill } from "./dom.js";
import { mark } from "./results.js";
import { mayLocal, mayWheel } from "./rights.js";
import { listen } from "./stream.js";
import { Table } from "./table.js";
import { T } from "./texts.js";

const READ_AFTER_MS = 400;
const STATES = { minions_pre: "pending", minions: "accepted", minions_rejected: "rejected", minions_denied: "denied" };

// What can be done with a key in a state.
const ACTIONS = {
  pending: ["accept", "reject", "delete"],
  accepted: ["reject", "delete"],
  rejected: ["accept", "delete"],
  denied: ["delete"],
};

export const mayKeys = () => mayWheel("key.list_all");

// A function that means keys by a glob is given no id that could be one.
const isPlain = (id) => !/[*?[\]]/.test(id);

function may(action, row) {
  return mayWheel(`key.${action}_dict`) || (mayWheel(`key.${action}`) && isPlain(row.id));
}

function act(action, row) {
  if (mayWheel(`key.${action}_dict`)) {
    const options = action === "accept" ? { include_rejected: row.state === "rejected", include_denied: false } : {};
    if (action === "reject") Object.assign(options, { include_accepted: row.state === "accepted", include_denied: false });
    return wheelOfEach(`key.${action}_dict`, { match: { [row.where]: [row.id] }, ...options }, row.masters);
  }
  const options = { match: row.id };
  if (action === "accept" && row.state === "rejected") options.include_rejected = true;
  if (action === "reject" && row.state === "accepted") options.include_accepted = true;
  return wheelOfEach(`key.${action}`, options, row.masters);
}

// The keys of all masters: a row for each id, state and fingerprint, with the masters
// where it is so.
function rowsOf(keys, fingers) {
  const rows = new Map();
  for (const [master, { value }] of keys) {
    for (const [where, state] of Object.entries(STATES)) {
      for (const id of value?.[where] ?? []) {
        const finger = fingers.get(master)?.value?.[where]?.[id];
        const name = JSON.stringify([id, where, finger]);
        if (!rows.has(name)) rows.set(name, { id, where, state, finger, masters: [] });
        rows.get(name).masters.push(master);
      }
    }
  }
  const order = Object.keys(STATES);
  const place = (row) => order.indexOf(row.where);
  return [...rows.values()].sort((a, b) => place(a) - place(b) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
}

// Which masters have not done it, or not answered, and why.
const failures = (answers) => [...answers].filter(([, { error }]) => error !== undefined).map(([master, { error }]) => T.failedAt(master, error));

export function keysView(place) {
  let rows = [];
  let masters = [];
  let asked = 0;
  const note = el("p", { class: "note", role: "status" });
  const filter = el("input", { type: "search", id: "filter", class: "grow", placeholder: T.keyFilterHint, "aria-label": T.keyFilterHint });
  const table = new Table({
    label: T.keys,
    empty: T.noKeys,
    open: (row) => compare(row),
    columns: [
      { key: "id", title: T.minion, class: "name", sort: (row) => row.id, cell: (row) => row.id },
      { key: "state", title: T.state, class: "narrow", sort: (row) => row.state, 
        cell: (row) => [el("span", { class: `tag ${row.state}` }, T.keyStates[row.state]), isPart(row) && el("span", { class: "muted", title: T.atMasters(row.masters) }, " ", T.atMasters(row.masters))] },
      { key: "finger", title: T.fingerprint, class: "wide finger", cell: (row) => el("code", {}, row.finger ?? "") },
      { key: "do", title: "", class: "actions", cell: (row) => actions(row) },
    ],
  });
  // Whether it is not so at all masters that answer.
  const isPart = (row) => row.masters.length < masters.length;
  fill(place, el("h1", {}, T.keys), el("div", { class: "row bar" }, filter), note, table.element);

  function draw() {
    const wanted = filter.value.trim().toLowerCase();
    const shown = rows.filter((row) => !wanted || row.id.toLowerCase().includes(wanted) || row.state === wanted || row.finger?.startsWith(wanted));
    table.setRows(shown);
  }

  async function read() {
    const mine = (asked += 1);
    try {
      const [keys, fingers] = await Promise.all([wheelOfEach("key.list_all"), mayWheel("key.finger") ? wheelOfEach("key.finger", { match: "*" }) : new Map()]);
      if (mine !== asked) return;
      masters = [...keys].filter(([, { error }]) => error === undefined).map(([master]) => master);
      rows = rowsOf(keys, fingers);
      // Those that are away are named below the frame.
      note.textContent = failures([...keys].filter(([master]) => !mastersAway().includes(master))).join(" ");
      draw();
    } catch (error) {
      if (mine === asked) note.textContent = error.message;
    }
  }

  function actions(row) {
    return ACTIONS[row.state].filter((action) => may(action, row)).map((action) =>
      button(T.keyActions[action], () => decide(action, row), { class: `small ${action}`, "aria-label": `${T.keyActions[action]} ${row.id}` }));
  }

  async function decide(action, row) {
    const body = el("div", {}, el("p", {}, el("b", {}, row.id), " – ", T.keyStates[row.state], isPart(row) && [" ", T.atMasters(row.masters)]), el("code", { class: "block" }, row.finger ?? T.noFingerprint),
      el("p", { class: "muted" }, action === "accept" ? T.checkOnMinion : T.keyConsequences[action]), action === "accept" && el("code", { class: "block" }, T.fingerCommand));
    if (!(await confirmed(T.keyQuestions[action], body, T.keyActions[action], T.cancel))) return;
    try {
      const failed = failures(await act(action, row));
      await read();
      note.textContent = failed.length > 0 ? failed.join(" ") : T.keyDone[action](row.id);
    } catch (error) {
      note.textContent = error.message;
    }
  }

  // The fingerprint here beside the one that the minion shows: typed, or asked
  // for where the minion is connected.
  async function compare(row) {
    const verdict = el("p", { role: "status" });
    const theirs = el("input", { class: "grow", placeholder: T.pasteFingerprint, "aria-label": T.pasteFingerprint, spellcheck: "false" });
    const judge = () => {
      const plain = (text) => text.toLowerCase().replace(/[^0-9a-f]/g, "");
      const isSame = plain(theirs.value) === plain(row.finger ?? "");
      fill(verdict, theirs.value.trim() && [mark(isSame ? "good" : "bad"), " ", isSame ? T.sameFingerprint : T.otherFingerprint]);
    };
    theirs.addEventListener("input", judge);
    const ask = async () => {
      verdict.textContent = T.reading;
      try {
        const said = await local({ tgt: [row.id], tgt_type: "list" }, "key.finger");
        theirs.value = String(said[row.id] ?? "");
        judge();
      } catch (error) {
        verdict.textContent = error.message;
      }
    };
    const canAsk = row.state === "accepted" && mayLocal("key.finger");
    const body = el("div", {}, el("p", { class: "muted" }, T.checkOnMinion), el("code", { class: "block" }, T.fingerCommand), el("p", { class: "muted" }, T.fingerHere), el("code", { class: "block" }, row.finger ?? T.noFingerprint),
      el("div", { class: "row" }, theirs, canAsk && button(T.askMinion, ask)), verdict);
    await confirmed(row.id, body, T.close, T.cancel);
  }

  filter.addEventListener("input", draw);
  const later = debounced(read, READ_AFTER_MS);
  const stop = listen(({ tag }) => /^salt\/(key|auth)$/.test(tag) && later());
  read();
  return () => {
    stop();
    later.cancel();
    table.close();
  };
}
