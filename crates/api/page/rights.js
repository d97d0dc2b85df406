// What somebody may do, by the `perms` of the answer to the login. It only decides
// what is offered: the master judges every request by itself.

import { session } from "./api.js";
import { globFits } from "./target.js";

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

// Whether a function may be run on a target: "yes", "no", or "perhaps" where only the
// master knows the minions that it means. One entry must permit all of them.
export function mayLocalAt(fun, meant) {
  const verdicts = perms().flatMap((perm) => {
    if (typeof perm === "string") return !perm.startsWith("@") && fits(perm, fun) ? ["yes"] : [];
    return Object.entries(perm ?? {})
      .filter(([at, funs]) => !at.startsWith("@") && permits(funs, fun))
      .map(([at]) => covers(at, meant));
  });
  return ["yes", "perhaps"].find((verdict) => verdicts.includes(verdict)) ?? "no";
}

// Whether all minions of a target are within the target of an entry, which is a compound
// target.
function covers(allowed, { tgt, tgt_type: kind }) {
  if (allowed === "*") return "yes";
  if (/[\s@()]/.test(allowed)) return kind === "compound" && tgt === allowed ? "yes" : "perhaps";
  const isWithin = (id) => globFits(allowed, id);
  if (kind === "list") return [tgt].flat().every(isWithin) ? "yes" : "no";
  if (kind !== "glob") return "perhaps";
  if (!/[*?[]/.test(tgt)) return isWithin(tgt) ? "yes" : "no";
  const isNarrower = /^[^*?[]*\*$/.test(allowed) && tgt.startsWith(allowed.slice(0, -1));
  return tgt === allowed || isNarrower ? "yes" : "perhaps";
}

// Whether anything may be run on minions.
export function mayCommand() {
  return perms().some((perm) => {
    if (typeof perm === "string") return !perm.startsWith("@");
    return Object.keys(perm ?? {}).some((target) => !target.startsWith("@"));
  });
}
