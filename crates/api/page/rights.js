// What somebody may do, by the `perms` of the answer to the login. It only decides
// what is offered: the master judges every request by itself.

import { session } from "./api.js";

function perms() {
  const given = session()?.perms;
  return Array.isArray(given) ? given : [];
}

// Whether a pattern of `external_auth` means a function: it fits its beginning.
function fits(pattern, fun) {
  try {
    return new RegExp(`^(?:${pattern})`).test(fun);
  } catch {
    return pattern === fun;
  }
}

// Whether an entry permits a function. Conditions on arguments are the master's to
// judge.
function permits(entry, fun) {
  if (typeof entry === "string") return fits(entry, fun);
  if (Array.isArray(entry)) return entry.some((one) => permits(one, fun));
  if (entry && typeof entry === "object") return Object.keys(entry).some((pattern) => fits(pattern, fun));
  return false;
}

// The kinds of things that entries begin with `@` for: `@runner`, `@wheel`, or the
// name of one module.
function mayOnMaster(office, fun) {
  const [module, name] = fun.split(".", 2);
  const offices = [`@${office}`, `@${office}s`];
  return perms().some((perm) => {
    if (typeof perm === "string") return offices.includes(perm) || perm === `@${module}`;
    return Object.entries(perm ?? {}).some(
      ([at, funs]) =>
        (offices.includes(at) && permits(funs, fun)) || (at === `@${module}` && permits(funs, name)),
    );
  });
}

export const mayRunner = (fun) => mayOnMaster("runner", fun);
export const mayWheel = (fun) => mayOnMaster("wheel", fun);

// Whether a function may be run on any minion at all.
export function mayLocal(fun) {
  return perms().some((perm) => {
    if (typeof perm === "string") return !perm.startsWith("@") && fits(perm, fun);
    return Object.entries(perm ?? {}).some(([target, funs]) => !target.startsWith("@") && permits(funs, fun));
  });
}

// Whether anything may be run on minions.
export function mayCommand() {
  return perms().some((perm) => {
    if (typeof perm === "string") return !perm.startsWith("@");
    return Object.keys(perm ?? {}).some((target) => !target.startsWith("@"));
  });
}
