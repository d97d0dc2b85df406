// What minions return: runs of states with their changes, and any other value as
// a tree; both also as text.

import { button, el, fill } from "./dom.js";
import { T } from "./texts.js";

const LINES_MAX = 2000;
const ITEMS_MAX = 500;

// Whether a return is a run of states: each key has the four parts of one.
export function isStateRun(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return false;
  const keys = Object.keys(value);
  return keys.length > 0 && keys.every((key) => key.split("_|-").length >= 4);
}

// How many states succeeded, changed something and failed.
export function counted(value) {
  const counts = { succeeded: 0, changed: 0, failed: 0 };
  if (!isStateRun(value)) return counts;
  for (const state of Object.values(value)) {
    if (state?.result === false) counts.failed += 1;
    else counts.succeeded += 1;
    if (hasChanges(state)) counts.changed += 1;
  }
  return counts;
}

// Whether a return says that something went wrong.
export function hasFailed(result) {
  if (result.success === false) return true;
  const codes = result.retcode;
  if (codes && typeof codes === "object") return Object.values(codes).some(Boolean);
  return Boolean(codes) || counted(result.return).failed > 0;
}

function hasChanges(state) {
  const changes = state?.changes;
  return Boolean(changes) && (typeof changes !== "object" || Object.keys(changes).length > 0);
}

// A return with its two forms.
export function shownReturn(value) {
  const body = el("div");
  const forms = {
    tree: () => (isStateRun(value) ? states(value) : tree(value)),
    text: () => el("pre", { class: "text" }, isStateRun(value) ? stateText(value) : plain(value, 0)),
  };
  const tabs = Object.keys(forms).map((form) => button(T[form], () => show(form), { class: "tab" }));
  const show = (form) => {
    fill(body, forms[form]());
    tabs.forEach((tab, at) => tab.setAttribute("aria-pressed", String(Object.keys(forms)[at] === form)));
  };
  show("tree");
  return el("div", { class: "return" }, el("div", { class: "row tabs" }, tabs), body);
}

// The states in the order in which they ran.
function ordered(run) {
  const number = ([, state]) => state?.__run_num__ ?? 0;
  return Object.entries(run).sort((a, b) => number(a) - number(b));
}

function parts(key, state) {
  const [module, id, name, fun] = key.split("_|-");
  return { id: state?.__id__ ?? id, name: state?.name ?? name, fun: `${module}.${fun}` };
}

function outcome(state) {
  if (state?.result === false) return "bad";
  if (state?.result === null || hasChanges(state)) return "changed";
  return "good";
}

const MARKS = { good: "✓", changed: "●", bad: "✗" };

export function mark(kind) {
  return el("span", { class: `mark ${kind}`, role: "img", "aria-label": T.outcomes[kind] }, MARKS[kind] ?? "·");
}

function states(run) {
  return el("div", { class: "states" }, ordered(run).slice(0, ITEMS_MAX).map(([key, state]) => {
    const { id, name, fun } = parts(key, state);
    const kind = outcome(state);
    const took = typeof state?.duration === "number" ? T.ms(state.duration) : "";
    const head = el("summary", {}, mark(kind), " ", el("b", {}, id), " ", el("code", {}, fun), " ", el("span", { class: "muted" }, took));
    const comment = state?.comment ? el("p", { class: "comment" }, asLine(state.comment)) : null;
    const named = String(name) === String(id) ? null : el("p", { class: "muted" }, asLine(name));
    const changes = hasChanges(state) ? changesOf(state.changes) : null;
    const warnings = warningsOf(state).map((warning) => el("p", { class: "comment warning" }, `${T.warning}: ${warning}`));
    const isOpen = kind !== "good" || warnings.length > 0;
    return el("details", { class: `state ${kind}`, open: isOpen }, head, named, comment, warnings, changes);
  }));
}

const warningsOf = (state) => [state?.warnings ?? []].flat().map(asLine);

function asLine(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function changesOf(changes) {
  if (typeof changes !== "object" || Array.isArray(changes)) return tree(changes);
  const { diff, ...rest } = changes;
  const isDiff = typeof diff === "string" && diff.includes("\n");
  const others = isDiff ? rest : changes;
  return el("div", {}, isDiff && diffLines(diff), Object.keys(others).length > 0 && tree(others));
}

// A diff with a colour for each line.
function diffLines(text) {
  const kinds = { "+": "plus", "-": "minus", "@": "at" };
  const lines = text.split("\n").slice(0, LINES_MAX);
  return el("pre", { class: "diff" }, lines.map((line) => el("span", { class: kinds[line[0]] ?? "" }, line, "\n")));
}

// Any value as a tree. What has old and new is shown as such.
export function tree(value) {
  if (value === null || typeof value !== "object") {
    const text = value === null ? "None" : String(value);
    return text.includes("\n") ? el("pre", { class: "text" }, cut(text)) : el("span", { class: `leaf ${typeof value}` }, text);
  }
  const isList = Array.isArray(value);
  const entries = isList ? value.map((item, at) => [at, item]) : Object.entries(value);
  if (entries.length === 0) return el("span", { class: "muted" }, isList ? "[]" : "{}");
  const isChange = !isList && entries.every(([key]) => key === "old" || key === "new");
  const shown = entries.slice(0, ITEMS_MAX).map(([key, item]) => {
    const kind = isChange ? (key === "old" ? "minus" : "plus") : "";
    return el("li", { class: kind }, el("span", { class: "key" }, isList ? "–" : `${key}:`), " ", tree(item));
  });
  const left = entries.length - shown.length;
  return el("ul", { class: "tree" }, shown, left > 0 && el("li", { class: "muted" }, T.more(left)));
}

function cut(text) {
  const lines = text.split("\n");
  if (lines.length <= LINES_MAX) return text;
  return `${lines.slice(0, LINES_MAX).join("\n")}\n${T.more(lines.length - LINES_MAX)}`;
}

// A value as indented text, as `salt` shows it.
function plain(value, depth) {
  const pad = " ".repeat(depth);
  if (value === null) return `${pad}None`;
  if (value === true || value === false) return `${pad}${value ? "True" : "False"}`;
  if (typeof value !== "object") return String(value).split("\n").map((line) => pad + line).join("\n");
  if (Array.isArray(value)) return value.map((item) => `${pad}- ${plain(item, depth + 2).trimStart()}`).join("\n");
  const lines = Object.entries(value).map(([key, item]) => `${pad}${key}:\n${plain(item, depth + 4)}`);
  return [`${pad}----------`, ...lines].join("\n");
}

// A run of states as the highstate text of `salt`.
function stateText(run) {
  const lines = [];
  const field = (name, value) => lines.push(`${name.padStart(12)}: ${value}`);
  const indented = (text) => text.split("\n").join(`\n${" ".repeat(14)}`);
  let took = 0;
  let warned = 0;
  for (const [key, state] of ordered(run)) {
    const { id, name, fun } = parts(key, state);
    lines.push("----------");
    field("ID", id);
    field("Function", fun);
    if (String(name) !== String(id)) field("Name", name);
    field("Result", state?.result === null ? "None" : state?.result ? "True" : "False");
    field("Comment", indented(asLine(state?.comment ?? "")));
    if (state?.start_time) field("Started", state.start_time);
    if (typeof state?.duration === "number") field("Duration", `${state.duration} ms`);
    field("Changes", "");
    if (hasChanges(state)) lines.push(plain(state.changes, 14));
    if (warningsOf(state).length > 0) field("Warnings", indented(warningsOf(state).join("\n")));
    warned += warningsOf(state).length > 0 ? 1 : 0;
    took += Number(state?.duration) || 0;
  }
  const { succeeded, changed, failed } = counted(run);
  lines.push("", T.summary, "-------------");
  lines.push(`Succeeded: ${succeeded}${changed ? ` (changed=${changed})` : ""}`, `Failed:    ${failed}`, ...(warned ? [`Warnings:  ${warned}`] : []), "-------------");
  lines.push(`Total states run: ${String(succeeded + failed).padStart(6)}`, `Total run time: ${took.toFixed(3)} ms`);
  return lines.join("\n");
}
