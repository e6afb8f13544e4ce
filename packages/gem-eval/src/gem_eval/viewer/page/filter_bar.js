// The controls of a filter: search, choices, and what else is set, to be taken away again.

import { el, setContent } from "./dom.js";
import { whole } from "./format.js";
import { CHOICE_NAMES, RANGES, choiceOf } from "./filter.js";
import { plain } from "./text.js";

const LABELS = { env: "Environment", outcome: "Outcome", stop: "Stopped by", failure: "Failure" };
const OUTCOMES = { solved: "solved", unsolved: "not solved", unknown: "unknown", scored: "scored" };
const CHIP_LABELS = { group: "solved share of the seed", tokens: "tokens", return: "return", turns: "turns", seconds: "seconds", seed: "seed", malformed: "malformed turns", cut: "turns cut by the token limit", empty: "turns empty after reasoning", grade: "grade" };
const MOST_OPTIONS = 300;

export class FilterBar {
  /** @param {(change: object) => void} onFilter Takes conditions to set; an empty one takes the condition away. */
  constructor(onFilter) {
    this.onFilter = onFilter;
    this.search = el("input", {
      type: "search",
      placeholder: "Search, or seed=0..3",
      "aria-label": "Search episodes",
      spellcheck: "false",
      autocomplete: "off",
      oninput: () => onFilter({ text: this.search.value }),
    });
    // On Enter, since it reads the whole run.
    this.said = el("input", {
      type: "search",
      placeholder: "In conversations",
      "aria-label": "Search conversations",
      spellcheck: "false",
      autocomplete: "off",
      onchange: () => onFilter({ said: this.said.value.trim() }),
    });
    this.selects = new Map();
    for (const name of Object.keys(LABELS)) {
      const select = el("select", { "aria-label": LABELS[name], onchange: () => onFilter({ [name]: select.value }) });
      this.selects.set(name, select);
    }
    this.range = this.rangeForm();
    this.chips = el("div", { class: "chips" });
    this.result = el("p", { class: "result", role: "status" });
    this.element = el(
      "div",
      { class: "filter-bar", role: "search", "aria-label": "Filter" },
      this.search,
      this.said,
      [...this.selects.values()],
      this.range,
      this.chips,
      this.result,
    );
  }

  /** Show a filter and how many rows it leaves. */
  update(run, filter, shown, all) {
    if (document.activeElement !== this.search) this.search.value = filter.text ?? "";
    if (document.activeElement !== this.said || !filter.said) this.said.value = filter.said ?? "";
    this.said.hidden = !run.canSearch();
    for (const [name, select] of this.selects) this.fillSelect(run, name, select, filter[name] ?? "");
    const set = ["seed", ...Object.keys(RANGES), ...CHOICE_NAMES.filter((name) => !this.selects.has(name))].filter((name) => filter[name]);
    const chips = set.map((name) => this.chip(name, filter[name]));
    if (Object.keys(filter).length > 1) {
      chips.push(el("button", { type: "button", class: "plain", onclick: () => this.onFilter(null) }, "Clear all"));
    }
    setContent(this.chips, chips);
    const isSearching = filter.said && run.rowsThatSay(filter.said) === null;
    const text = isSearching ? "Searching …" : shown === all ? `${whole(all)} episodes` : `${whole(shown)} of ${whole(all)} episodes`;
    if (this.result.textContent !== text) this.result.textContent = text;
  }

  chip(name, value) {
    const words = value.replace("..<", " to below ").replace("..", " to ");
    return el(
      "button",
      { type: "button", class: "chip set", "aria-label": `Take away: ${CHIP_LABELS[name]} ${plain(words, 60)}`, onclick: () => this.onFilter({ [name]: "" }) },
      `${CHIP_LABELS[name]} ${plain(words, 60)}`,
      el("span", { "aria-hidden": "true" }, " ×"),
    );
  }

  /** How many rows have each value of a choice; counted anew only when the run has grown. */
  countsOf(run, name) {
    if (this.counted !== run.latest || this.countedRows !== run.count) {
      this.counts = new Map();
      this.counted = run.latest;
      this.countedRows = run.count;
    }
    let counts = this.counts.get(name);
    if (!counts) {
      this.counts.set(name, (counts = new Map()));
      for (const row of run.rows()) {
        const value = choiceOf(run, row, name);
        if (value !== null && value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
      }
    }
    return counts;
  }

  fillSelect(run, name, select, chosen) {
    const found = new Map(this.countsOf(run, name));
    if (chosen && !found.has(chosen)) found.set(chosen, 0);
    const values = [...found.keys()].sort().slice(0, MOST_OPTIONS);
    const signature = JSON.stringify([values.map((value) => [value, found.get(value)]), chosen]);
    if (select.dataset.signature !== signature) {
      select.dataset.signature = signature;
      const options = values.map((value) => {
        const label = name === "outcome" ? OUTCOMES[value] : plain(value, 80);
        return el("option", { value }, `${label} (${whole(found.get(value))})`);
      });
      setContent(select, el("option", { value: "" }, LABELS[name]), options);
    }
    select.value = chosen;
    select.classList.toggle("set", chosen !== "");
    select.hidden = values.length < 2 && !chosen && name !== "outcome";
  }

  rangeForm() {
    const names = Object.keys(RANGES).filter((name) => name !== "group");
    const quantity = el("select", { "aria-label": "Quantity" }, names.map((name) => el("option", { value: name }, name)));
    const low = el("input", { type: "number", step: "any", placeholder: "from", "aria-label": "From" });
    const high = el("input", { type: "number", step: "any", placeholder: "to", "aria-label": "To" });
    const form = el(
      "form",
      {
        onsubmit: (event) => {
          event.preventDefault();
          const isSet = low.value !== "" || high.value !== "";
          this.onFilter({ [quantity.value]: isSet ? `${low.value}..${high.value}` : "" });
          low.value = high.value = "";
          details.open = false;
        },
      },
      quantity,
      low,
      high,
      el("button", { type: "submit" }, "Set"),
    );
    const details = el("details", { class: "range" }, el("summary", {}, "Range"), form);
    return details;
  }
}
