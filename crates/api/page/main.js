// The frame of the page: who has logged in, which view is shown, and keys.

import { forget, login, logout, onOtherTab, session } from "./api.js";
import { mastersAway } from "./away.js";
import { button, confirmed, el, fill } from "./dom.js";
import { eventsView } from "./events.js";
import { fleetView, mayFleet } from "./fleet.js";
import { jobsView, mayJobs } from "./jobs.js";
import { keysView, mayKeys } from "./keys.js";
import { mastersView, mayMasters } from "./masters.js";
import { connect, disconnect, forgetEvents, streamState } from "./stream.js";
import { T } from "./texts.js";
import { mayWhy, whyView } from "./why.js";

const THEME = "halite-theme";
const EAUTH = "halite-eauth";

// The views, in the order of their keys 1 to 6, and who may see them.
const VIEWS = [
  { name: "fleet", title: T.fleet, may: mayFleet, show: fleetView },
  { name: "masters", title: T.masters, may: mayMasters, show: mastersView },
  { name: "jobs", title: T.jobs, may: mayJobs, show: jobsView },
  { name: "keys", title: T.keys, may: mayKeys, show: keysView },
  // Whoever has a session hears events.
  { name: "events", title: T.events, may: () => true, show: eventsView },
  { name: "why", title: T.why, may: mayWhy, show: whyView },
];

let close = () => {};

function offered() {
  return VIEWS.filter((view) => view.may());
}

function shell() {
  const main = el("main", { id: "main", tabindex: "-1" });
  const links = offered().map((view) =>
    el("a", { href: `#/${view.name}`, "data-view": view.name }, view.title));
  const live = el("span", { class: "live", role: "status" });
  const showState = () => {
    live.className = `live ${streamState()}`;
    live.textContent = T.streamStates[streamState()];
  };
  addEventListener("stream-state", showState);
  showState();
  const away = el("p", { class: "away", role: "status" });
  const showAway = () => {
    away.hidden = mastersAway().length === 0;
    away.textContent = away.hidden ? "" : T.mastersAway(mastersAway());
  };
  addEventListener("masters-away", showAway);
  showAway();
  fill(document.body,
    el("a", { class: "skip", href: "#main", on: { click: (event) => { event.preventDefault(); main.focus(); } } }, T.skip),
    el("header", {},
      el("span", { class: "brand" }, el("img", { src: "icon.svg", alt: "", width: 22, height: 22 }), "Halite"),
      el("nav", { "aria-label": T.views }, links), live,
      el("span", { class: "row who" }, el("span", {}, session().user), button("◐", turnTheme, { class: "plain", "aria-label": T.theme, title: T.theme }),
        button("?", help, { class: "plain", "aria-label": T.help, title: T.help }), button(T.logOut, leave))),
    away, main);
  const route = () => {
    const [, name, ...rest] = location.hash.split("/");
    const view = offered().find((one) => one.name === name) ?? offered()[0];
    for (const link of links) {
      if (link.dataset.view === view.name) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.title = `${view.title} – Halite`;
    close();
    close = view.show(main, view.name === name && rest.length ? decoded(rest.join("/")) : undefined) ?? (() => {});
  };
  onhashchange = route;
  connect();
  route();
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function loginForm(reason) {
  close();
  close = () => {};
  onhashchange = null;
  disconnect();
  forgetEvents();
  const field = (name, label, props) => el("label", {}, label, el("input", { name, required: true, ...props }));
  const note = el("p", { class: "bad", role: "alert" }, reason);
  const enter = el("button", { type: "submit", class: "primary" }, T.logIn);
  const form = el("form", { class: "panel login" },
    el("h1", {}, el("img", { src: "icon.svg", alt: "", width: 28, height: 28 }), " Halite"),
    field("username", T.userName, { autocomplete: "username", autocapitalize: "none" }),
    field("password", T.password, { type: "password", autocomplete: "current-password" }),
    field("eauth", T.eauth, { value: localStorage.getItem(EAUTH) ?? "pam", list: "eauths", autocapitalize: "none" }),
    el("datalist", { id: "eauths" }, ["pam", "file", "ldap", "auto"].map((value) => el("option", { value }))), enter, note);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = new FormData(form);
    enter.disabled = true;
    note.textContent = "";
    try {
      await login(given.get("username"), given.get("password"), given.get("eauth"));
      localStorage.setItem(EAUTH, given.get("eauth"));
      shell();
    } catch (error) {
      enter.disabled = false;
      note.textContent = error.message;
    }
  });
  fill(document.body, el("main", { id: "main", class: "center" }, form));
  form.elements.username.focus();
}

async function leave() {
  try {
    await logout();
    loginForm();
  } catch (error) {
    const isAgain = await confirmed(T.logOut, el("p", { class: "bad", role: "alert" }, T.stillLoggedIn(error.message)), T.tryAgain, T.cancel);
    if (isAgain) await leave();
  }
}

function turnTheme() {
  const isDark = getComputedStyle(document.documentElement).getPropertyValue("--is-dark").trim() === "1";
  localStorage.setItem(THEME, isDark ? "light" : "dark");
  setTheme();
}

function setTheme() {
  const theme = localStorage.getItem(THEME);
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}

function help() {
  const rows = [["1 – 6", T.keyHelp.views], ["/", T.keyHelp.filter], ["↑ ↓ ⏎", T.keyHelp.rows], ["?", T.keyHelp.help]];
  confirmed(T.help, el("table", {}, el("tbody", {}, rows.map(([key, text]) => el("tr", {}, el("td", {}, el("kbd", {}, key)), el("td", {}, text))))), T.close, T.cancel);
}

addEventListener("keydown", (event) => {
  const isTyping = event.target.closest?.("input, textarea, select, dialog");
  if (isTyping || event.ctrlKey || event.altKey || event.metaKey || !session()) return;
  const view = offered().find(({ name }) => VIEWS.findIndex((one) => one.name === name) + 1 === Number(event.key));
  if (view) {
    location.hash = `#/${view.name}`;
  } else if (event.key === "/") {
    event.preventDefault();
    document.getElementById("filter")?.focus();
  } else if (event.key === "?") {
    help();
  }
});

addEventListener("session-ended", () => loginForm(T.sessionEnded));
// The cookie is another one now: nothing that is shown here may stay.
onOtherTab(() => location.reload());
// A browser keeps a page that was left, with its stream, and has few connections to one
// server. Who comes back may be somebody else.
addEventListener("pagehide", disconnect);
addEventListener("pageshow", (event) => event.persisted && location.reload());

setTheme();
if (session()) {
  shell();
} else {
  forget();
  loginForm();
}
