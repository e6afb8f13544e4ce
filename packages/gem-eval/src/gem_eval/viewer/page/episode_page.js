// The page of an episode, or of two of the same seed next to each other.

import { el } from "./dom.js";
import { EpisodeView, outcomeBadge, reading } from "./episode_view.js";
import { number, whole } from "./format.js";
import { tokenLegend } from "./tokens.js";
import { plain, visible } from "./text.js";

export class EpisodePage {
  /**
   * @param {"episode"|"pair"} kind
   * @param {Run[]} runs One run, or two.
   * @param {number[]} rows The episode's row in each.
   * @param {{table: string, address: (turn: number) => string, beside: (step: number) => void,
   *   position: {index: number, count: number}}} actions
   */
  constructor(kind, runs, rows, actions) {
    this.kind = kind;
    this.runs = runs;
    this.rows = rows;
    this.actions = actions;
    const [run] = runs;
    const [row] = rows;
    this.title = `${plain(run.env[row] ?? "Episode", 80)}, seed ${run.seed[row]}`;
    if (run.repetition[row]) this.title += `, repetition ${run.repetition[row]}`;
    const count = kind === "pair" ? 2 : 1;
    this.views = Array.from({ length: count }, (_, side) => new EpisodeView(runs[side], rows[side], actions.address, kind === "pair" ? "AB"[side] : null));
    this.buttons = {
      tokens: this.button("Tokens", "t", () => this.toggle("tokens")),
      history: this.button("Whole history", "e", () => this.toggle("history")),
      raw: this.button("JSON", "r", () => this.toggleRaw()),
    };
    this.legend = tokenLegend();
    this.legend.hidden = true;
    this.element = el(
      "div",
      { class: `episode-page${kind === "pair" ? " pair" : ""}` },
      el(
        "header",
        { class: "episode-head" },
        el("nav", { "aria-label": "Episodes" }, el("a", { href: actions.table, class: "back" }, "← Episodes"), this.steps()),
        el("h1", {}, visible(this.title)),
        kind === "pair" ? null : [outcomeBadge(run.outcome(row)), el("span", { class: "about" }, `return ${number(run.return[row])}`)],
        el("div", { class: "switches" }, Object.values(this.buttons)),
        this.legend,
      ),
      kind === "pair" ? el("div", { class: "side-heads" }, this.sideHead(0), this.sideHead(1)) : null,
      el("div", { class: "sides" }, this.views.map((view) => view.element)),
    );
    this.update();
  }

  isOf(kind, numbers, rows) {
    return kind === this.kind && this.runs.every((run, side) => run.number === numbers[side]) && this.rows.every((row, side) => row === rows[side]);
  }

  async open(turn) {
    await Promise.all(this.views.map((view) => view.open(0)));
    this.update();
    if (turn) this.go(turn);
  }

  go(turn) {
    // The first side last, so that on a narrow screen, where they are below each other, its turn is what one sees.
    for (const view of [...this.views].reverse()) view.go(turn);
  }

  detach() {
    for (const view of this.views) view.close();
  }

  onKey(event) {
    const moves = { j: 1, ArrowRight: 1, k: -1, ArrowLeft: -1 };
    const act = {
      n: () => this.actions.beside(1),
      p: () => this.actions.beside(-1),
      t: () => this.toggle("tokens"),
      e: () => this.toggle("history"),
      r: () => this.toggleRaw(),
      Escape: () => (location.hash = this.actions.table),
    }[event.key];
    if (event.key in moves) {
      event.preventDefault();
      const last = Math.max(...this.views.map((view) => view.episode?.turns.length ?? 0));
      const turn = Math.max(0, Math.min(last, Math.max(...this.views.map((view) => view.turn)) + moves[event.key]));
      history.replaceState(null, "", this.actions.address(turn));
      this.go(turn);
    } else if (act) {
      event.preventDefault();
      act();
    }
  }

  toggle(name) {
    reading[name] = !reading[name];
    this.update();
    for (const view of this.views) view.redraw();
  }

  toggleRaw() {
    for (const view of this.views) view.toggleRaw();
    this.update();
  }

  update() {
    const states = { ...reading, raw: this.views[0].raw };
    this.legend.hidden = !reading.tokens || states.raw || !this.views.some((view) => view.hasLogprobs());
    for (const [name, button] of Object.entries(this.buttons)) button.setAttribute("aria-pressed", String(states[name]));
  }

  button(label, key, action) {
    return el("button", { type: "button", class: "switch", title: `Key: ${key}`, "aria-pressed": "false", onclick: action }, label);
  }

  steps() {
    const { index, count } = this.actions.position;
    const step = (label, about, by, possible) =>
      el("button", { type: "button", class: "plain", "aria-label": about, title: about, disabled: !possible, onclick: () => this.actions.beside(by) }, label);
    return [
      step("↑", "Previous episode (p)", -1, index > 0),
      step("↓", "Next episode (n)", 1, index >= 0 && index + 1 < count),
      index < 0 ? null : el("span", { class: "about small" }, `${whole(index + 1)} of ${whole(count)}`),
    ];
  }

  sideHead(side) {
    const run = this.runs[side];
    const row = this.rows[side];
    return el(
      "div",
      { class: "side-head" },
      el("span", { class: `side-name side-${"AB"[side]}` }, "AB"[side]),
      el("strong", {}, visible(plain(run.facts.name ?? "", 80))),
      outcomeBadge(run.outcome(row)),
      el("span", { class: "about" }, `return ${number(run.return[row])}`),
    );
  }
}
