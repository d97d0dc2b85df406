// The masters that the API does not reach, as its answers and events say.

import { T } from "./texts.js";

let away = [];

export const mastersAway = () => away;

// The words for an answer without some masters; those that are away are named below the
// frame.
export function withoutText(names) {
  const others = names.filter((name) => !away.includes(name));
  return others.length > 0 ? T.without(others) : "";
}

// These are away, and no others.
export function setAway(names) {
  const isNews = names.join() !== away.join();
  away = names;
  if (isNews) dispatchEvent(new Event("masters-away"));
}

// One has gone, or is back.
export function noteMaster(name, isAway) {
  setAway([...away.filter((one) => one !== name), ...(isAway ? [name] : [])]);
}
