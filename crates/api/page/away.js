// The masters that the API does not reach, as its answers and events say.

let away = [];

export const mastersAway = () => away;

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
