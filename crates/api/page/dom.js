// Elements, made of texts and other elements. Whatever comes from minions is set
// as text: nothing in this page parses markup.

const SVG = "http://www.w3.org/2000/svg";

// The element `name`. In `props`, `class` and `on` (listeners by event) have their
// own meaning, booleans are properties, and everything else is an attribute.
export function el(name, props, ...children) {
  return filled(document.createElement(name), props, children);
}

export function svg(name, props, ...children) {
  return filled(document.createElementNS(SVG, name), props, children);
}

function filled(element, props, children) {
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null) continue;
    if (key === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (typeof value === "boolean") {
      element[key] = value;
    } else {
      element.setAttribute(key, String(value));
    }
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

// Replaces everything within an element.
export function fill(element, ...children) {
  element.replaceChildren();
  add(element, children);
  return element;
}

export function button(text, onClick, props) {
  return el("button", { type: "button", on: { click: onClick }, ...props }, text);
}

// A dialog that asks. Resolves to whether it was agreed to.
export function confirmed(title, body, yes, no) {
  return new Promise((resolve) => {
    const dialog = el("dialog", { "aria-label": title });
    const end = (answer) => {
      dialog.close();
      dialog.remove();
      resolve(answer);
    };
    const agree = button(yes, () => end(true), { class: "primary" });
    add(dialog, [el("h2", {}, title), body, el("div", { class: "row end" }, button(no, () => end(false)), agree)]);
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      end(false);
    });
    document.body.append(dialog);
    dialog.showModal();
    agree.focus();
  });
}

// Calls `work` once, some time after the last of several calls.
export function debounced(work, ms) {
  let timer;
  const later = (...args) => {
    clearTimeout(timer);
    timer = setTimeout(work, ms, ...args);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

// Calls `work` at most once for each frame that is drawn.
export function perFrame(work) {
  let asked = 0;
  const later = () => {
    asked ||= requestAnimationFrame(() => {
      asked = 0;
      work();
    });
  };
  later.cancel = () => cancelAnimationFrame(asked);
  return later;
}

// Calls `work` again and again while the page is visible.
export function every(ms, work) {
  const timer = setInterval(() => document.visibilityState === "visible" && work(), ms);
  return () => clearInterval(timer);
}
