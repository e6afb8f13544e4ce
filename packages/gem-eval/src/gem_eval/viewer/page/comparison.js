// Two runs side by side: what differs on the same seeds.

import { el, setContent } from "./dom.js";
import { card, histogram, tooltips } from "./chart.js";
import { outcomeBadge } from "./episode_view.js";
import { formatRange, parseRange } from "./filter.js";
import { counted, number, percent, signed, whole } from "./format.js";
import { VERDICTS, pairs } from "./pairs.js";
import { bins, finder, known, mean } from "./statistics.js";
import { plain, visible } from "./text.js";
import { VirtualTable, sorted } from "./virtual_table.js";

export class Comparison {
  /**
   * @param {Run} one
   * @param {Run} other
   * @param {{address: (pair: Pair) => string, onFilter: (change: object) => void, onSort: (key: string) => void}} actions
   */
  constructor(one, other, actions) {
    this.one = one;
    this.other = other;
    this.actions = actions;
    this.order = [];
    this.figures = el("dl", { class: "figures" });
    this.plots = el("div", { class: "plots" });
    this.search = el("input", {
      type: "search",
      placeholder: "Search environment, seed",
      "aria-label": "Search pairs",
      oninput: () => actions.onFilter({ text: this.search.value }),
    });
    this.result = el("p", { class: "result", role: "status" });
    this.chips = el("div", { class: "chips" });
    this.tableHolder = el("div", { class: "table-holder" });
    this.element = el(
      "div",
      { class: "overview" },
      el("div", { class: "title" }, el("h1", {}, "Comparison"), el("p", { class: "about" }, this.names())),
      this.figures,
      el("div", { class: "filter-bar", role: "search", "aria-label": "Filter" }, this.search, this.chips, this.result),
      el("div", { class: "results" }, this.plots, this.tableHolder),
    );
    tooltips(this.plots);
    this.tip = this.plots.lastChild;
    this.table = new VirtualTable("Pairs of episodes", this.columns(), {
      address: (index) => actions.address(this.pairs[index]),
      onSort: actions.onSort,
    });
    setContent(this.tableHolder, this.table.element);
  }

  /** Draw the pairs under a filter and an order. */
  show(filter, sort) {
    this.pairs = pairs(this.one, this.other);
    const range = filter.difference ? parseRange(filter.difference) : null;
    const words = (filter.text ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const inText = (pair) => {
      const text = `${this.one.env[pair.a]} seed ${this.one.seed[pair.a]}`.toLowerCase();
      return words.every((word) => text.includes(word));
    };
    const inRange = (pair) => !range || (pair.difference !== null && pair.difference >= range.low && (range.open ? pair.difference < range.high : pair.difference <= range.high));
    const inVerdict = (pair) => !filter.verdict || pair.verdict === filter.verdict || (filter.verdict === "differ" && disagree(pair));
    const indices = this.pairs.map((_, index) => index);
    const rows = indices.filter((index) => inText(this.pairs[index]) && inRange(this.pairs[index]) && inVerdict(this.pairs[index]));
    if (document.activeElement !== this.search) this.search.value = filter.text ?? "";
    this.result.textContent = `${whole(rows.length)} of ${counted(this.pairs.length, "pair")}`;
    this.drawChips(filter);
    this.drawSummary(filter);
    const column = this.table.columns.find(({ key }) => key === sort.key);
    this.order = column ? sorted(rows, column, sort.down) : rows;
    this.table.setRows(this.order, sort);
  }

  attach() {
    this.table.attach();
  }

  detach() {
    this.table.detach();
  }

  redrawColours() {}

  names() {
    return ["A", "B"].map((letter, index) => [
      el("span", { class: `side-name side-${letter}` }, letter),
      ` ${plain([this.one, this.other][index].facts.name ?? "", 100)} `,
    ]);
  }

  drawChips(filter) {
    const chips = [this.chip("verdict", "differ", "Only disagreements", filter)];
    if (filter.verdict && filter.verdict !== "differ") chips.push(this.chip("verdict", filter.verdict, VERDICTS[filter.verdict], filter));
    if (filter.difference) chips.push(this.chip("difference", filter.difference, `difference ${filter.difference.replace("..<", " to below ").replace("..", " to ")}`, filter));
    setContent(this.chips, chips);
  }

  chip(name, value, label, filter) {
    const on = filter[name] === value;
    return el(
      "button",
      { type: "button", class: `chip${on ? " set" : ""}`, "aria-pressed": String(on), onclick: () => this.actions.onFilter({ [name]: on ? "" : value }) },
      plain(label, 60),
      on ? el("span", { "aria-hidden": "true" }, " ×") : null,
    );
  }

  drawSummary(filter) {
    const all = this.pairs;
    const scored = all.filter((pair) => pair.verdict !== "failed");
    const differences = known(all.map((pair) => pair.difference));
    const counts = Object.keys(VERDICTS).map((name) => [name, all.filter((pair) => pair.verdict === name).length]);
    const share = (names) => (scored.length ? scored.filter((pair) => names.includes(pair.verdict)).length / scored.length : null);
    const onlyOne = this.one.latest.size - all.length;
    const onlyOther = this.other.latest.size - all.length;
    const figures = [
      ["Pairs", whole(all.length), onlyOne || onlyOther ? `${onlyOne} only in A, ${onlyOther} only in B` : "all episodes of both"],
      ["Solved by A", percent(share(["both", "first"])), `B ${percent(share(["both", "second"]))}`],
      ["Mean return of A", number(mean(all.map((pair) => this.one.return[pair.a]))), `B ${number(mean(all.map((pair) => this.other.return[pair.b])))}`],
      ["B − A", signed(mean(differences)), "mean difference in return"],
    ];
    const grid = el(
      "div",
      { class: "verdicts" },
      counts.filter(([, total]) => total).map(([name, total]) => {
        const length = el("span", { class: `length ${name}` });
        length.style.width = `${(100 * total) / Math.max(1, all.length)}%`;
        return el(
          "button",
          { type: "button", class: "verdict", "aria-pressed": String(filter.verdict === name), onclick: () => this.actions.onFilter({ verdict: filter.verdict === name ? "" : name }) },
          el("span", { class: "name" }, VERDICTS[name]),
          el("span", { class: "figure" }, whole(total)),
          el("span", { class: "track" }, length),
        );
      }),
    );
    setContent(
      this.figures,
      figures.map(([name, value, remark]) => el("div", {}, el("dt", {}, name), el("dd", {}, el("strong", {}, value), el("span", {}, remark)))),
    );
    setContent(this.plots, card("Who solved what", "on the same seeds", grid), this.differencePlot(differences, filter), this.tip);
    this.tip.hidden = true;
  }

  differencePlot(differences, filter) {
    if (!differences.length) return null;
    const borders = bins(differences, false, 21);
    const totals = borders.map(() => 0);
    const find = finder(borders);
    for (const value of differences) totals[find(value)] += 1;
    const bars = borders.map(({ low, high, open }, index) => {
      const range = formatRange(low, high, open);
      return {
        total: totals[index],
        part: low >= 0 && high > 0 ? totals[index] : 0,
        about: `difference ${signed(low)}${high === low ? "" : ` to ${signed(high)}`}: ${counted(totals[index], "pair")}`,
        chosen: filter.difference === range,
        onChoose: () => this.actions.onFilter({ difference: filter.difference === range ? "" : range }),
      };
    });
    const every = Math.ceil(borders.length / 6);
    const labels = borders.map(({ low }, index) => ({ at: borders[0].label === null ? index : index + 0.5, text: signed(low) })).filter((_, index) => index % every === 0);
    return card("Difference in return", "B − A, pair by pair", histogram(bars, { xLabel: "B − A", yLabel: "pairs", labels }));
  }

  columns() {
    const { one, other } = this;
    const pair = (index) => this.pairs[index];
    return [
      { key: "env", label: "Environment", width: "minmax(4.8rem, 2.4fr)", value: (index) => one.env[pair(index).a], show: (index) => visible(plain(one.env[pair(index).a] ?? "–", 100)) },
      { key: "seed", label: "Seed", width: "minmax(3.2rem, 0.6fr)", right: true, value: (index) => Number(one.seed[pair(index).a]), show: (index) => String(one.seed[pair(index).a]) },
      { key: "repetition", label: "Rep.", width: "2.4rem", right: true, priority: 3, value: (index) => one.repetition[pair(index).a], show: (index) => String(one.repetition[pair(index).a]) },
      { key: "outcome-a", label: "A", width: "6.2rem", priority: 1, value: (index) => one.outcome(pair(index).a), show: (index) => outcomeBadge(one.outcome(pair(index).a)) },
      { key: "outcome-b", label: "B", width: "6.2rem", priority: 1, value: (index) => other.outcome(pair(index).b), show: (index) => outcomeBadge(other.outcome(pair(index).b)) },
      { key: "return-a", isQuantity: true, label: "Return A", width: "minmax(3.8rem, 0.8fr)", right: true, value: (index) => one.return[pair(index).a], show: (index) => number(one.return[pair(index).a]) },
      { key: "return-b", isQuantity: true, label: "Return B", width: "minmax(3.8rem, 0.8fr)", right: true, value: (index) => other.return[pair(index).b], show: (index) => number(other.return[pair(index).b]) },
      { key: "difference", isQuantity: true, label: "B − A", width: "minmax(3.6rem, 0.8fr)", right: true, value: (index) => pair(index).difference, show: (index) => difference(pair(index).difference) },
      { key: "turns-a", isQuantity: true, label: "Turns A", width: "minmax(4.2rem, 0.7fr)", right: true, priority: 3, value: (index) => one.turns[pair(index).a], show: (index) => number(one.turns[pair(index).a]) },
      { key: "turns-b", isQuantity: true, label: "Turns B", width: "minmax(4.2rem, 0.7fr)", right: true, priority: 3, value: (index) => other.turns[pair(index).b], show: (index) => number(other.turns[pair(index).b]) },
    ];
  }
}

function disagree(pair) {
  return pair.verdict === "first" || pair.verdict === "second" || (pair.difference !== null && pair.difference !== 0);
}

function difference(value) {
  return el("span", { class: value > 0 ? "up" : value < 0 ? "down" : "quiet" }, signed(value));
}
