// What the masters remember of connections: when minions came and went, and to which
// master. It goes into the time lines beside what this page has heard itself.

import { history } from "./api.js";
import { mayRunner } from "./rights.js";
import { setConnections } from "./stream.js";

export const mayHistory = () => mayRunner("minions.history");

// The changes of all minions, or of one, by minion, the oldest first: each has `at`,
// `change`, `master`, and as it is `why`, `until`, `times`, and the masters that the
// minion was connected to after it.
export async function readHistory(id) {
  const { minions } = await history(id);
  const all = new Map();
  for (const [minion, changes] of Object.entries(minions)) {
    const connected = new Set();
    const rows = changes.map((change) => {
      if (change.change === "connected") connected.add(change.master);
      else if (CONNECTIONS.has(change.change)) connected.delete(change.master);
      const until = change.until ? Date.parse(change.until) : undefined;
      return { ...change, at: Date.parse(change.at), until, masters: [...connected] };
    });
    all.set(minion, rows);
    setConnections(minion, spans(rows));
  }
  return all;
}

// The changes of a minion that are about its connection.
const CONNECTIONS = new Set(["connected", "disconnected", "silent", "unreachable"]);

function spans(rows) {
  return rows.filter(({ change }) => CONNECTIONS.has(change))
    .map(({ at, masters }) => ({ at, isHere: masters.length > 0, masters: masters.join(", ") }));
}

// Ends of connections, and changes to another master than before, the newest first.
export function losses(all) {
  const found = [];
  for (const [id, rows] of all) {
    let last;
    for (const row of rows.filter(({ change }) => CONNECTIONS.has(change))) {
      const isLoss = row.change !== "connected";
      // Who is connected to several masters at once has not changed to one of them.
      const isMove = !isLoss && row.masters.length === 1 && last !== undefined && !last.includes(row.master);
      if (isLoss || isMove) found.push({ id, at: row.at, isMove, master: row.master, from: last?.join(", ") });
      // Where it was before it was nowhere.
      if (row.masters.length > 0) last = row.masters;
    }
  }
  return found.sort((a, b) => b.at - a.at);
}
