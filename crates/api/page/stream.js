// The master's events, live, for all views; and what they tell of connections.
// Everything that is kept here is bounded.

import { checkSession, EVENTS, session } from "./api.js";
import { noteMaster } from "./away.js";

const RECENT_MAX = 1000;
const RECENT_CHARS_MAX = 32_000_000;
const AGAIN_MS = 3000;
// Changes of connections that are kept of one minion, and minions with any.
const CHANGES_MAX = 60;
const MINIONS_MAX = 10_000;
const EVENT_AFTER_MS = 1000;

const listeners = new Set();
const recent = [];
const changes = new Map();
let recentChars = 0;
let source = null;
let again;
let state = "off";

// Hears every event from now on: `{tag, data, at}`, and as `text` what came. Returns how to end it.
export function listen(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

// The events that came last, the oldest first.
export const recentEvents = () => recent;

export const streamState = () => state;

export function connect() {
  disconnect();
  source = new EventSource(EVENTS);
  source.onopen = () => become("live");
  source.onmessage = (message) => take(message.data);
  source.onerror = () => {
    become("lost");
    // A browser does not try again after an answer that is no stream.
    if (source.readyState === EventSource.CLOSED && session()) again = setTimeout(connectAgain, AGAIN_MS);
  };
}

// Connects anew, unless the session is gone.
async function connectAgain() {
  const lost = source;
  await checkSession();
  if (source === lost && session()) connect();
}

export function disconnect() {
  clearTimeout(again);
  source?.close();
  source = null;
  become("off");
}

// Forgets what somebody else may not see.
export function forgetEvents() {
  recent.length = 0;
  recentChars = 0;
  changes.clear();
}

function become(next) {
  state = next;
  dispatchEvent(new CustomEvent("stream-state", { detail: next }));
}

function take(text) {
  let event;
  try {
    const { tag, data } = JSON.parse(text);
    event = { tag: String(tag), data: data ?? {}, at: Date.now(), text };
  } catch {
    return;
  }
  recent.push(event);
  recentChars += text.length;
  while (recent.length > RECENT_MAX || (recentChars > RECENT_CHARS_MAX && recent.length > 1)) {
    recentChars -= recent.shift().text.length;
  }
  notePresence(event);
  for (const listener of listeners) listener(event);
}

const MASTER = /^salt\/netapi\/master\/(away|back)$/;

function notePresence({ tag, data, at }) {
  const master = MASTER.exec(tag);
  if (master) {
    noteMaster(String(data.master), master[1] === "away");
    return;
  }
  if (tag === "salt/presence/change") {
    for (const id of data.new ?? []) noteConnection(id, true, at);
    for (const id of data.lost ?? []) noteConnection(id, false, at);
    return;
  }
  const start = /^salt\/minion\/([^/]+)\/start$/.exec(tag);
  if (start) noteConnection(start[1], true, at);
}

// A minion is connected, or not, since a moment.
export function noteConnection(id, isHere, at) {
  if (!changes.has(id) && changes.size >= MINIONS_MAX) return;
  const known = changes.get(id) ?? [];
  const last = known.at(-1);
  if (last && (last.isHere === isHere || last.at >= at)) return;
  known.push({ isHere, at });
  if (known.length > CHANGES_MAX) known.shift();
  changes.set(id, known);
}

// What the masters know of a minion's connection takes the place of what was heard until
// the last of it: `{at, isHere, masters}`, the oldest first.
export function setConnections(id, told) {
  if (told.length === 0 || (!changes.has(id) && changes.size >= MINIONS_MAX)) return;
  const last = told.at(-1);
  // An event comes a moment after what it tells.
  const later = connectionsOf(id).filter(({ at, isHere }) => at > last.at + EVENT_AFTER_MS || (at > last.at && isHere !== last.isHere));
  changes.set(id, [...told, ...later].slice(-CHANGES_MAX));
}

// The known changes of a minion's connection, the oldest first.
export const connectionsOf = (id) => changes.get(id) ?? [];

// The minions whose connection changed, the newest change first.
export function minionsWithChanges() {
  const last = ([, known]) => known.at(-1).at;
  return [...changes].sort((a, b) => last(b) - last(a)).map(([id]) => id);
}
