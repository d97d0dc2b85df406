// Jobs: what ran and runs, and a line to command minions with.

import { newestJobs, start } from "./api.js";
import { withoutText } from "./away.js";
import { debounced, el, fill, perFrame } from "./dom.js";
import { jobView, noteStarted } from "./job.js";
import { mark } from "./results.js";
import { mayCommand, mayLocal, mayLocalAt, mayRunner } from "./rights.js";
import { listen } from "./stream.js";
import { Table } from "./table.js";
import { commandArguments, splitArguments, target, typedArguments, typedTarget } from "./target.js";
import { T } from "./texts.js";

const LISTED = 300;
const READ_AFTER_MS = 3000;

// What is offered in the field of the function; any other may be typed.
const COMMON = [
  "test.ping", "state.apply", "state.highstate", "grains.items", "cmd.run", "pkg.list_upgrades", "pkg.install",
  "service.restart", "service.status", "saltutil.refresh_pillar", "disk.usage", "status.uptime", "network.interfaces",
];

// Jobs that clients ask for themselves, and that nobody wants to see.
const QUESTIONS = new Set(["saltutil.find_job", "saltutil.is_running"]);

export const mayJobs = () => mayCommand() || mayRunner("jobs.list_jobs_filter");

// A command that is to be looked at before it runs. Of one that has run before it
// also has what was meant: the fields cannot spell everything.
let draft = { target: "*", fun: "test.ping", args: "" };

function draftOf(job) {
  const shown = { target: typedTarget(job.tgt, job.kind), fun: job.fun, args: typedArguments(job.args) };
  const target = { tgt: job.tgt, tgt_type: job.kind ?? "glob" };
  return { ...shown, before: { shown, target, args: splitArguments(job.args) } };
}

// What the fields mean; where nobody has changed them, what was meant before.
function meantBy({ target: typed, args, before }) {
  return {
    meant: before?.shown.target === typed ? before.target : target(typed),
    ...(before?.shown.args === args ? before.args : commandArguments(args)),
  };
}

export function jobsView(place, jid) {
  if (jid) return jobView(place, jid, (job) => {
    draft = draftOf(job);
    location.hash = "#/jobs";
  });
  return jobList(place);
}

function jobList(place) {
  const jobs = new Map();
  const note = el("p", { class: "note", role: "status" });
  const filter = el("input", { type: "search", class: "grow", placeholder: T.jobFilterHint, "aria-label": T.jobFilterHint });
  const hidden = el("input", { type: "checkbox", id: "runners" });
  const table = new Table({
    label: T.jobs,
    empty: T.noJobs,
    open: (row) => (location.hash = `#/jobs/${encodeURIComponent(row.jid)}`),
    columns: [
      { key: "jid", title: T.started, sort: (row) => row.jid, 
        cell: (row) => {
          const [day, time] = T.jidTime(row.jid).split(" ");
          return el("a", { href: `#/jobs/${encodeURIComponent(row.jid)}` }, time && el("span", { class: "wide" }, `${day} `), time ?? day);
        } },
      { key: "fun", title: T.fun, class: "name", sort: (row) => row.fun, cell: (row) => el("code", {}, row.fun) },
      { key: "args", title: T.args, class: "wide", cell: (row) => row.args },
      { key: "target", title: T.target, class: "narrow", sort: (row) => row.target, cell: (row) => row.target },
      { key: "user", title: T.user, class: "wide", sort: (row) => row.user, cell: (row) => row.user },
      { key: "returns", title: T.returned, class: "narrow", cell: (row) => (row.returned ? [mark(row.failed ? "bad" : "good"), " ", T.returns(row.returned, row.failed)] : "") },
    ],
  });

  const draw = perFrame(() => {
    const wanted = filter.value.trim().toLowerCase();
    const rows = [...jobs.values()].filter((row) => !QUESTIONS.has(row.fun) && (hidden.checked || !/^(runner|wheel)\./.test(row.fun)));
    const found = rows.filter((row) => !wanted || `${row.fun} ${row.args} ${row.target} ${row.user} ${row.jid}`.toLowerCase().includes(wanted));
    table.setRows(found.sort((a, b) => (a.jid < b.jid ? 1 : -1)));
  });

  function put(jid, job) {
    jobs.set(jid, { returned: 0, failed: 0, ...jobs.get(jid), jid, ...job });
    if (jobs.size > 2 * LISTED) for (const old of [...jobs.keys()].sort().slice(0, LISTED)) jobs.delete(old);
  }

  async function read() {
    if (!mayRunner("jobs.list_jobs_filter")) return;
    try {
      const { jobs: said, without } = await newestJobs(LISTED);
      for (const [jid, job] of Object.entries(said)) {
        put(jid, { fun: String(job.Function), args: typedArguments(job.Arguments), target: typedTarget(job.Target, job["Target-type"]), user: String(job.User) });
      }
      note.textContent = withoutText(without);
      draw();
    } catch (error) {
      note.textContent = error.message;
    }
  }

  const later = debounced(read, READ_AFTER_MS);
  const stop = listen(({ tag, data }) => {
    const [, , jid, what] = tag.split("/");
    if (!tag.startsWith("salt/job/") || !/^\d+$/.test(jid)) return;
    if (what === "new") {
      put(jid, { fun: String(data.fun), args: typedArguments(data.arg), target: typedTarget(data.tgt, data.tgt_type), user: String(data.user) });
      draw();
    } else if (what === "ret" && jobs.has(jid)) {
      const job = jobs.get(jid);
      job.returned += 1;
      job.failed += data.success === false || data.retcode ? 1 : 0;
      draw();
    } else if (what === "ret") {
      later();
    }
  });
  filter.addEventListener("input", draw);
  hidden.addEventListener("change", draw);
  fill(place, el("h1", {}, T.jobs), mayCommand() && commandForm(),
    el("div", { class: "row bar" }, filter, mayRunner("jobs.list_jobs_filter") && el("label", {}, hidden, " ", T.withRunners)), note, table.element);
  read();
  return () => {
    stop();
    later.cancel();
    draw.cancel();
    table.close();
  };
}

// What is said before a command is given that the master refuses, or may refuse.
function refusalText(fun, verdict) {
  if (verdict === "no") return mayLocal(fun) ? T.mayNotThere(fun) : T.mayNot(fun);
  return verdict === "perhaps" ? T.perhapsMay(fun) : "";
}

function commandForm() {
  const field = (name, label, props) => {
    const input = el("input", { value: draft[name], "aria-label": label, placeholder: label, autocomplete: "off", spellcheck: "false", autocapitalize: "none", ...props });
    // Not every way to change a field says so at once.
    for (const event of ["input", "change"]) {
      input.addEventListener(event, () => {
        draft[name] = input.value;
        judge();
      });
    }
    return input;
  };
  const note = el("span", { class: "note", role: "status" });
  const run = el("button", { type: "submit", class: "primary" }, T.run);
  const judge = () => {
    const fun = draft.fun.trim();
    const verdict = mayLocalAt(fun, meantBy(draft).meant);
    run.disabled = !fun || verdict === "no";
    note.textContent = fun ? refusalText(fun, verdict) : "";
  };
  const offered = COMMON.filter(mayLocal);
  const form = el("form", { class: "row bar command", "aria-label": T.command },
    field("target", T.target, { id: "filter" }), field("fun", T.fun, { list: "functions" }), field("args", T.args, { class: "grow" }), run,
    el("datalist", { id: "functions" }, offered.map((fun) => el("option", { value: fun }))), note);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    run.disabled = true;
    note.textContent = T.sending;
    try {
      const { meant, arg, kwarg } = meantBy(draft);
      const fun = draft.fun.trim();
      const job = await start(meant, fun, arg, kwarg);
      const named = Object.keys(kwarg).length ? [{ __kwarg__: true, ...kwarg }] : [];
      noteStarted(job.jid, { fun, args: [...arg, ...named], tgt: meant.tgt, kind: meant.tgt_type, minions: job.minions });
      location.hash = `#/jobs/${job.jid}`;
    } catch (error) {
      judge();
      note.textContent = error.message;
    }
  });
  judge();
  return form;
}

