// A table of which only the rows in sight are made, so that thousands cost as
// little as ten. Arrow keys move, Enter opens.

import { el, fill, perFrame } from "./dom.js";

const ROW_PX = 36;
const BEYOND = 6;

export class Table {
  // `columns`: `{key, title, cell(row), sort(row)?, class?}`; `open(row)` is called
  // for the row that is clicked, or entered.
  constructor({ label, columns, open, empty }) {
    this.columns = columns;
    this.open = open;
    this.empty = empty;
    this.rows = [];
    this.active = -1;
    this.sorted = { key: null, down: false };
    this.head = el("div", { class: "tr head", role: "row" });
    this.body = el("div", { class: "tbody", role: "rowgroup" });
    this.scroller = el(
      "div",
      { class: "scroller", tabindex: "0", role: "table", "aria-label": label },
      this.head,
      this.body,
    );
    this.element = this.scroller;
    this.draw = perFrame(() => this.drawNow());
    this.scroller.addEventListener("scroll", this.draw, { passive: true });
    this.scroller.addEventListener("keydown", (event) => this.key(event));
    this.observer = new ResizeObserver(this.draw);
    this.observer.observe(this.scroller);
    this.drawHead();
  }

  setRows(rows) {
    this.rows = this.ordered(rows);
    this.active = Math.min(this.active, this.rows.length - 1);
    this.scroller.setAttribute("aria-rowcount", String(this.rows.length + 1));
    this.draw();
  }

  close() {
    this.observer.disconnect();
    this.draw.cancel();
  }

  ordered(rows) {
    const column = this.columns.find(({ key }) => key === this.sorted.key);
    if (!column) return rows;
    const sign = this.sorted.down ? -1 : 1;
    const keyed = rows.map((row) => [column.sort(row), row]);
    keyed.sort(([a], [b]) => sign * (a < b ? -1 : a > b ? 1 : 0));
    return keyed.map(([, row]) => row);
  }

  drawHead() {
    const cells = this.columns.map((column) => {
      const isSorted = this.sorted.key === column.key;
      const order = isSorted ? (this.sorted.down ? "descending" : "ascending") : "none";
      const props = { class: `td ${column.class ?? ""}`, role: "columnheader", "aria-sort": order };
      if (!column.sort) return el("div", props, column.title);
      const mark = isSorted ? (this.sorted.down ? " ▾" : " ▴") : "";
      const sort = () => {
        this.sorted = { key: column.key, down: isSorted && !this.sorted.down };
        this.drawHead();
        this.setRows(this.rows);
      };
      return el("div", props, el("button", { type: "button", class: "plain", on: { click: sort } }, column.title, mark));
    });
    fill(this.head, cells);
  }

  drawNow() {
    const { scrollTop, clientHeight } = this.scroller;
    const first = Math.max(0, Math.floor(scrollTop / ROW_PX) - BEYOND);
    const count = Math.ceil(clientHeight / ROW_PX) + 2 * BEYOND;
    this.body.style.height = `${Math.max(1, this.rows.length) * ROW_PX}px`;
    if (this.rows.length === 0) {
      fill(this.body, el("p", { class: "muted pad" }, this.empty));
      return;
    }
    const shown = this.rows.slice(first, first + count);
    fill(this.body, shown.map((row, at) => this.row(row, first + at)));
  }

  row(row, at) {
    const cells = this.columns.map((column) =>
      el("div", { class: `td ${column.class ?? ""}`, role: "cell" }, column.cell(row)),
    );
    const props = {
      class: `tr ${at === this.active ? "active" : ""} ${this.open ? "can-open" : ""}`,
      role: "row",
      "aria-rowindex": at + 2,
      on: { click: (event) => this.click(event, at) },
    };
    const element = el("div", props, cells);
    element.style.top = `${at * ROW_PX}px`;
    return element;
  }

  click(event, at) {
    if (event.target.closest("button, a, input")) return;
    this.active = at;
    this.draw();
    this.open?.(this.rows[at]);
  }

  key(event) {
    if (event.target !== this.scroller) return;
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW_PX) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    const last = this.rows.length - 1;
    let next = null;
    if (event.key in steps) next = this.active + steps[event.key];
    else if (event.key === "Home") next = 0;
    else if (event.key === "End") next = last;
    else if (event.key === "Enter" && this.rows[this.active]) this.open?.(this.rows[this.active]);
    if (next === null) return;
    event.preventDefault();
    this.active = Math.max(0, Math.min(last, next));
    this.show(this.active);
    this.draw();
  }

  show(at) {
    const top = at * ROW_PX;
    const seen = this.scroller.clientHeight - ROW_PX;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (top + ROW_PX > this.scroller.scrollTop + seen) this.scroller.scrollTop = top + ROW_PX - seen;
  }
}
