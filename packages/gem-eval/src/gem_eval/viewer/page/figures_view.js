// The figures of all runs, one environment at a time, as pictures for papers.

import { card, tooltips } from "./chart.js";
import { el, setContent, svg } from "./dom.js";
import { download, pngOf } from "./downloads.js";
import { plain, visible } from "./text.js";

const TAGS = new Set(["svg", "g", "line", "polyline", "polygon", "circle", "text"]);

export class FiguresView {
  /** As of RunsView. */
  constructor(source, runs, onChange) {
    this.source = source;
    this.runs = runs;
    this.select = el("select", { "aria-label": "Environment", onchange: () => onChange({ env: this.select.value }) });
    this.cards = el("div", { class: "figure-cards" });
    this.element = el(
      "div",
      { class: "overview" },
      el("div", { class: "title" }, el("h1", {}, "Figures"), el("p", { class: "about" }, "A line is a run. SVG and PNG are for papers, and CSV has the numbers.")),
      el("div", { class: "filter-bar" }, this.select),
      this.cards,
    );
    tooltips(this.cards);
    this.tip = this.cards.lastChild;
  }

  /** Show the figures of the environment that the parameters of the address name. */
  async show({ env }) {
    const envs = [...new Set(this.runs.flatMap((run) => run.figures.map((item) => item.env)))];
    const chosen = envs.includes(env) ? env : envs[0];
    setContent(this.select, envs.map((name) => el("option", { value: name, selected: name === chosen }, plain(name, 80))));
    this.select.hidden = envs.length < 2;
    if (chosen === undefined) {
      setContent(this.cards, el("p", { class: "about" }, "There are no episodes yet."), this.tip);
      return;
    }
    const state = `${chosen} ${this.runs.map((run) => `${run.generation} ${run.count}`).join()}`;
    if (this.state === state) return;
    this.state = state;
    this.cards.setAttribute("aria-busy", "true");
    try {
      const found = await this.source.figures(chosen);
      const none = el("p", { class: "about" }, "This page has no figures of this environment.");
      if (this.state === state) setContent(this.cards, found.length ? found.map(figureCard) : none, this.tip);
    } catch (error) {
      setContent(this.cards, el("p", { class: "notice bad" }, visible(plain(String(error.message), 400))), this.tip);
    }
    this.cards.removeAttribute("aria-busy");
  }

  redrawColours() {}
}

function figureCard(figure) {
  const save = (label, action) => el("button", { type: "button", class: "plain", "aria-label": `${label} of: ${figure.title}`, onclick: action }, label);
  return card(
    figure.title,
    visible(plain(figure.env, 80)),
    elementOf(figure.drawn),
    el("p", { class: "caption" }, visible(plain(figure.caption, 2000))),
    el(
      "p",
      { class: "saves" },
      save("SVG", () => download(`${figure.file}.svg`, new Blob([figure.svg], { type: "image/svg+xml" }))),
      save("PNG", async () => download(`${figure.file}.png`, await pngOf(figure.svg))),
      save("CSV", () => download(`${figure.file}.csv`, new Blob([figure.csv], { type: "text/csv" }))),
    ),
  );
}

/** Make the element that a node of gem_eval.figures.drawing describes. */
function elementOf([tag, attributes, children]) {
  if (!TAGS.has(tag)) throw new TypeError(`a figure has no ${tag}`);
  return svg(tag, attributes, children.map((child) => (typeof child === "string" ? child : elementOf(child))));
}
