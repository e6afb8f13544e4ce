// A table of any length of which only the visible rows are in the document. It scrolls with the page.

import { el, setContent } from "./dom.js";

const OVERSCAN = 4;

/**
 * @typedef {object} Column
 * @property {string} key Name of the column in the address.
 * @property {string} label
 * @property {string} width A track of a CSS grid.
 * @property {boolean} [right] Whether the column holds numbers.
 * @property {number} [priority] Columns of a higher number go first on narrow screens (1 to 3; 0 stays).
 * @property {boolean} [isQuantity] Whether one wants to see the largest first.
 * @property {(row: number) => any} value What rows are sorted by.
 * @property {(row: number) => any} show What stands in the cell: text, a node, or a list of them.
 */

export class VirtualTable {
  /**
   * @param {string} label Name of the table.
   * @param {Column[]} columns
   * @param {{address: (row: number) => string, onSort: (key: string) => void}} actions
   */
  constructor(label, columns, actions) {
    this.columns = columns;
    this.actions = actions;
    this.order = [];
    this.head = el("div", { role: "row", class: "row head", "aria-rowindex": 1 });
    this.body = el("div", { role: "rowgroup", class: "rows" });
    this.element = el(
      "div",
      { role: "table", class: "table", "aria-label": label, "aria-colcount": columns.length },
      el("div", { role: "rowgroup", class: "heads" }, this.head),
      this.body,
    );
    this.element.style.setProperty("--columns", columns.map((column) => column.width).join(" "));
    for (const priority of [1, 2, 3]) {
      const kept = columns.filter((column) => (column.priority ?? 0) < priority);
      this.element.style.setProperty(`--columns-${priority}`, kept.map((column) => column.width).join(" "));
    }
    this.drawn = new Map();
    this.pending = false;
    this.onScroll = () => this.schedule();
    this.body.addEventListener("keydown", (event) => this.move(event));
  }

  attach() {
    window.addEventListener("scroll", this.onScroll, { passive: true });
    window.addEventListener("resize", this.onScroll, { passive: true });
    this.draw();
  }

  detach() {
    window.removeEventListener("scroll", this.onScroll);
    window.removeEventListener("resize", this.onScroll);
  }

  /** Show these rows in this order. */
  setRows(order, sort) {
    this.order = order;
    this.element.setAttribute("aria-rowcount", String(order.length + 1));
    this.drawHead(sort);
    for (const row of this.drawn.values()) row.remove();
    this.drawn.clear();
    this.body.style.height = `calc(var(--row) * ${order.length})`;
    this.draw();
  }

  schedule() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.draw();
    });
  }

  draw() {
    const top = this.body.getBoundingClientRect().top;
    const height = this.rowHeight();
    const first = Math.max(0, Math.floor(-top / height) - OVERSCAN);
    // A few rows are always there: a table that begins below the window is not empty.
    const last = Math.min(this.order.length, Math.max(first, Math.ceil((window.innerHeight - top) / height)) + OVERSCAN);
    const focused = document.activeElement?.closest?.(".row");
    for (const [index, row] of this.drawn) {
      if ((index < first || index >= last) && row !== focused) {
        row.remove();
        this.drawn.delete(index);
      }
    }
    for (let index = first; index < last; index++) if (!this.drawn.has(index)) this.drawRow(index);
  }

  drawRow(index) {
    const number = this.order[index];
    const cells = this.columns.map((column) => {
      const cell = el("div", { role: "cell", class: cellClass(column) });
      setContent(cell, column.show(number));
      return cell;
    });
    const link = el("a", { href: this.actions.address(number), class: "open", "data-index": index }, [...cells[0].childNodes]);
    setContent(cells[0], link);
    const row = el("div", { role: "row", class: "row", "aria-rowindex": index + 2 }, cells);
    row.style.top = `calc(var(--row) * ${index})`;
    // In the order of the rows, so that a screen reader and the tab key meet them in it.
    let next = index + 1;
    while (next < index + 200 && !this.drawn.has(next)) next += 1;
    this.body.insertBefore(row, this.drawn.get(next) ?? null);
    this.drawn.set(index, row);
  }

  drawHead(sort) {
    const cells = this.columns.map((column) => {
      const direction = sort.key === column.key ? (sort.down ? "descending" : "ascending") : "none";
      const arrow = el("span", { class: "arrow", "aria-hidden": "true" }, direction === "none" ? "" : sort.down ? "↓" : "↑");
      const button = el(
        "button",
        { type: "button", title: `Sort by ${column.label}`, onclick: () => this.actions.onSort(column.key) },
        column.label,
        arrow,
      );
      return el("div", { role: "columnheader", "aria-sort": direction, class: cellClass(column) }, button);
    });
    const focused = [...this.head.children].findIndex((cell) => cell.contains(document.activeElement));
    setContent(this.head, cells);
    if (focused >= 0) cells[focused].firstChild.focus({ preventScroll: true });
  }

  /** Move the focus to a row, by its place in the order. */
  focus(index) {
    if (!this.order.length) return;
    const wanted = Math.max(0, Math.min(this.order.length - 1, index));
    const height = this.rowHeight();
    const top = this.body.getBoundingClientRect().top + wanted * height;
    const head = this.head.offsetHeight + (parseFloat(getComputedStyle(this.head.parentElement).top) || 0);
    if (top < head || top + height > window.innerHeight) window.scrollBy(0, top - window.innerHeight / 3);
    this.draw();
    this.drawn.get(wanted)?.querySelector("a.open")?.focus({ preventScroll: true });
  }

  /** The place of the row that has the focus, or -1. */
  focused() {
    const link = document.activeElement;
    return this.body.contains(link) && link.dataset.index !== undefined ? Number(link.dataset.index) : -1;
  }

  move(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -Infinity, End: Infinity };
    const step = steps[event.key];
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.focus(this.focused() + step);
  }

  rowHeight() {
    return this.body.getBoundingClientRect().height / Math.max(1, this.order.length) || 1;
  }
}

/** Sort rows by a column; unknown values come last in either direction. */
export function sorted(rows, column, down) {
  const values = [];
  for (const row of rows) values[row] = column.value(row);
  const sign = down ? -1 : 1;
  return [...rows].sort((one, other) => {
    const a = values[one];
    const b = values[other];
    if (a === null || b === null) return (a === null) - (b === null) || one - other;
    if (a < b) return -sign;
    if (a > b) return sign;
    return one - other;
  });
}

function cellClass(column) {
  return `cell${column.right ? " right" : ""}${column.priority ? ` priority-${column.priority}` : ""}`;
}
