// Events: live, filtered, paused. The newest thousand are kept.

import { button, el, fill, perFrame } from "./dom.js";
import { tree } from "./results.js";
import { listen, recentEvents } from "./stream.js";
import { T } from "./texts.js";

const SHOWN_MAX = 200;

// Whether an event fits what is typed: a glob of the tag, or a part of tag or data.
function fits(event, wanted) {
  if (!wanted) return true;
  if (!wanted.includes("*")) return event.tag.includes(wanted) || event.text.includes(wanted);
  const parts = wanted.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(event.tag);
}

// The words of an event that tell it from others of its kind.
function eventLabel({ tag, data }) {
  const words = [data.fun, data.act, data.id].filter((word) => typeof word === "string" && !tag.includes(word));
  return words.join(" ").slice(0, 120);
}

export function eventsView(place) {
  let isPaused = false;
  let kept = null;
  let missed = 0;
  const open = new Set();
  const filter = el("input", { type: "search", id: "filter", class: "grow", placeholder: T.eventFilterHint, "aria-label": T.eventFilterHint, spellcheck: "false" });
  const list = el("ol", { class: "events", "aria-label": T.events });
  const note = el("p", { class: "note", role: "status" });
  const pause = button(T.pause, () => {
    isPaused = !isPaused;
    kept = isPaused ? [...recentEvents()] : null;
    missed = 0;
    pause.textContent = isPaused ? T.resume : T.pause;
    pause.setAttribute("aria-pressed", String(isPaused));
    draw();
  }, { "aria-pressed": "false" });

  const draw = perFrame(() => {
    const all = kept ?? recentEvents();
    const wanted = filter.value.trim();
    const found = all.filter((event) => fits(event, wanted));
    const shown = found.slice(-SHOWN_MAX).reverse();
    for (const event of open) if (!all.includes(event)) open.delete(event);
    fill(list, shown.map(item));
    note.textContent = isPaused ? T.pausedSince(missed) : T.eventCount(found.length, all.length);
  });

  function item(event) {
    const details = el("details", { open: open.has(event) },
      el("summary", {}, el("time", { class: "muted" }, T.clock(event.at)), " ", el("code", {}, event.tag), " ", el("span", { class: "muted" }, eventLabel(event))));
    const show = () => details.append(tree(event.data));
    if (details.open) show();
    details.addEventListener("toggle", () => {
      if (details.open && !open.has(event)) {
        open.add(event);
        show();
      } else if (!details.open) {
        open.delete(event);
      }
    });
    return el("li", {}, details);
  }

  filter.addEventListener("input", draw);
  fill(place, el("h1", {}, T.events), el("div", { class: "row bar" }, filter, pause), note, list);
  const stop = listen(() => {
    if (!isPaused) return draw();
    missed += 1;
    note.textContent = T.pausedSince(missed);
  });
  draw();
  return () => {
    stop();
    draw.cancel();
  };
}
