// A run as a whole: its figures, its plots, its episodes.

import { el, setContent } from "./dom.js";
import { tooltips } from "./chart.js";
import { failureName, filtered } from "./filter.js";
import { FilterBar } from "./filter_bar.js";
import { count, counted, countedText, date, duration, number, percent, whole } from "./format.js";
import { plots } from "./plots.js";
import { outcomeBadge } from "./episode_view.js";
import { known, mean, median, sum } from "./statistics.js";
import { plain, visible } from "./text.js";
import { VirtualTable, sorted } from "./virtual_table.js";

const MOST_NOTES = 12;

/** What becomes of turns and answers, as the command line names it, and how the page does. */
const ANSWERS = {
  "malformed turns": "Malformed",
  "cut by token limit": "Cut off",
  "empty after reasoning": "Empty",
  "context full": "Context full",
  "unreadable answers": "Unreadable",
  "distinct answers": "Distinct answers",
};

export class Overview {
  /**
   * @param {Run} run
   * @param {{address: (row: number) => string, onFilter: (change: object) => void, onSort: (key: string) => void}} actions
   */
  constructor(run, actions) {
    this.run = run;
    this.actions = actions;
    this.order = [];
    this.title = el("div", { class: "title" });
    this.live = el("div", { class: "live", hidden: true });
    this.figures = el("dl", { class: "figures" });
    this.parts = el("div", { class: "parts" });
    this.bar = new FilterBar(actions.onFilter);
    this.plots = el("div", { class: "plots" });
    this.tableHolder = el("div", { class: "table-holder" });
    this.element = el("div", { class: "overview" }, this.title, this.live, this.figures, this.parts, this.bar.element,
      el("div", { class: "results" }, this.plots, this.tableHolder));
    tooltips(this.plots);
    this.tip = this.plots.lastChild;
    this.plotTimer = 0;
  }

  /** Draw the run under a filter and an order. */
  show(filter, sort) {
    this.filter = filter;
    this.sort = sort;
    this.drawTitle();
    const rows = filtered(this.run, filter);
    this.drawTable(rows);
    this.drawLive();
    // Another order changes nothing but the table.
    const counted = JSON.stringify([filter, this.run.generation, this.run.count]);
    if (this.counted === counted) return;
    this.counted = counted;
    this.rows = rows;
    this.drawFigures();
    this.bar.update(this.run, filter, rows.length, this.run.latest.size);
    // Plots come after the table, which is what one waits for.
    cancelAnimationFrame(this.plotTimer);
    this.plotTimer = requestAnimationFrame(() => this.drawPlots());
  }

  /** Draw anew what a search of the conversations has found. */
  searched() {
    this.counted = null;
    this.show(this.filter, this.sort);
  }

  drawPlots() {
    const focused = [...this.plots.querySelectorAll("[tabindex]")].indexOf(document.activeElement);
    setContent(this.plots, this.run.count ? plots(this.run, this.filter, this.actions.onFilter) : null, this.tip);
    this.tip.hidden = true;
    if (focused >= 0) this.plots.querySelectorAll("[tabindex]")[focused]?.focus({ preventScroll: true });
  }

  redrawColours() {
    for (const canvas of this.plots.querySelectorAll("canvas")) canvas.redraw();
  }

  attach() {
    this.table?.attach();
  }

  detach() {
    this.table?.detach();
  }

  drawTitle() {
    const { facts } = this.run;
    const said = [
      facts.model ?? facts.agent,
      facts.environments.length === 1 ? facts.environments[0] : facts.environments.length ? counted(facts.environments.length, "environment") : null,
      facts.wrappers,
      facts.started_at ? date(facts.started_at) : null,
      facts.gem ? `gem ${facts.gem}` : null,
    ].filter(Boolean);
    const setting = Object.entries(facts.settings).map(([name, value]) => `${name} ${value}`.trim());
    setContent(
      this.title,
      el("h1", {}, visible(plain(facts.name ?? "Run", 120))),
      el("p", { class: "about" }, visible(plain(said.join(" · "), 400))),
      setting.length ? el("p", { class: "about small" }, visible(plain(setting.join(" · "), 400))) : null,
    );
  }

  drawLive() {
    const { live } = this.run;
    const isPartial = this.run.isPartial();
    this.live.hidden = !live && !isPartial && !this.run.asking;
    if (isPartial) {
      const { count: read, total } = this.run;
      setContent(this.live, el("span", { class: "pulse", "aria-hidden": "true" }), el("span", {}, `Reading: ${whole(read)} of ${whole(total)} episodes so far; what stands here is of these`));
      return;
    }
    if (!live) {
      if (this.run.asking) setContent(this.live, el("span", { class: "pulse", "aria-hidden": "true" }), "The figures of each environment, with their intervals, are being reckoned");
      return;
    }
    const done = this.run.latest.size;
    const total = typeof live.total === "number" ? live.total : null;
    const running = Array.isArray(live.running) ? live.running : [];
    const bar = total ? el("progress", { max: total, value: Math.min(done, total), "aria-label": "Episodes done" }) : null;
    setContent(
      this.live,
      el("span", { class: "pulse", "aria-hidden": "true" }),
      el("span", {}, total ? `Running: ${whole(done)} of ${whole(total)} episodes` : "Running"),
      bar,
      running.length ? el("span", { class: "about small" }, `${counted(running.length, "episode")} in play: ${running.slice(0, 6).map(runningName).join(", ")}${running.length > 6 ? ", …" : ""}`) : null,
    );
  }

  drawFigures() {
    const { run, rows } = this;
    const scored = rows.filter((row) => run.counts(row));
    const column = (name) => scored.map((row) => run[name][row]);
    const verdicts = known(rows.map((row) => run.success[row]));
    const failed = rows.length - scored.length;
    const unknown = rows.filter((row) => run.outcome(row) === "unknown").length;
    const wholeRun = rows.length === run.latest.size;
    const alone = wholeRun && run.figures.length === 1 ? run.figures[0] : null;
    const turns = sum(column("turns"));
    const fault = (name, label) => {
      const found = sum(column(name));
      return found ? [label, percent(found / turns), `${whole(found)} of ${whole(turns)} turns`] : null;
    };
    const ofEpisodes = alone ? ["context full", "unreadable answers", "distinct answers"].filter((name) => answersOf(alone)[name]) : [];
    const tokens = known(column("completion_tokens"));
    const prompts = sum(column("cache_prompt_tokens"));
    const withIds = sum(column("token_calls"));
    const cost = known(rows.map((row) => run.cost[row]));
    const { overall } = run;
    const share = alone?.success
      ? [percent(alone.success.value), `${interval(alone.success)}${alone.counted}`]
      : wholeRun && overall
        ? [percent(overall.value), `${interval(overall)}${overall.counted}; environments weigh the same`]
        : verdicts.length
          ? [percent(mean(verdicts)), `${countedText(sum(verdicts), verdicts.length, unknown)}${wholeRun ? ", environments pooled" : ", filtered"}`]
          : null;
    const figures = [
      ["Episodes", whole(rows.length), failed ? `${whole(failed)} failed` : "none failed"],
      share && ["Solved", ...share],
      fault("malformed", "Malformed"),
      fault("cut", "Cut off"),
      fault("empty", "Empty"),
      ...ofEpisodes.map((name) => [ANSWERS[name], percent(answersOf(alone)[name][0] / answersOf(alone)[name][1]), answersOf(alone)[name].map(whole).join(" of ")]),
      ["Mean return", number(mean(column("return"))), `median ${number(median(column("return")))}`],
      ["Mean turns", number(mean(column("turns")), 1), `most ${number(column("turns").reduce((most, value) => Math.max(most, value ?? 0), 0))}`],
      tokens.length ? ["Tokens", count(mean(tokens)), "sampled each"] : null,
      prompts ? ["Cached", percent(sum(column("cached_tokens")) / prompts), `of ${count(prompts)} prompt tokens${alone ? ` in ${whole(alone.cache.calls)} of ${counted(alone.calls, "call")}` : ""}`] : null,
      withIds ? ["Exact tokens", percent(sum(column("exact_calls")) / withIds), `of ${counted(withIds, "call")} with ids`] : null,
      alone?.first_token ? ["First token", duration(alone.first_token.p50), `p95 ${duration(alone.first_token.p95)}, ${whole(alone.first_token.count)} of ${counted(alone.calls, "call")}`] : null,
      known(column("seconds")).length ? ["Time", duration(mean(column("seconds"))), "each"] : null,
      cost.length ? ["Cost", number(sum(cost), 2), "in all"] : null,
      ...[...run.scores].slice(0, 3).map(([name, values]) => [plain(name, 24), number(mean(scored.map((row) => values[row]))), "mean score"]),
    ];
    setContent(
      this.figures,
      figures.filter(Boolean).map(([name, value, remark]) => el("div", { class: name === "Solved" ? "wide" : null }, el("dt", {}, name), el("dd", {}, el("strong", {}, value), el("span", {}, remark)))),
    );
    setContent(this.parts, wholeRun && run.figures.length > 1 ? environmentTable(run.figures) : null, notes(run));
  }

  drawTable(rows) {
    const signature = this.columnSignature();
    if (this.signature !== signature) {
      this.signature = signature;
      const attached = this.table !== undefined && this.element.isConnected;
      this.table?.detach();
      this.columns = tableColumns(this.run);
      this.table = new VirtualTable("Episodes", this.columns, { address: this.actions.address, onSort: this.actions.onSort });
      setContent(this.tableHolder, this.table.element);
      if (attached) this.table.attach();
    }
    const column = this.columns.find(({ key }) => key === this.sort.key);
    this.order = column ? sorted(rows, column, this.sort.down) : this.run.inOrder(rows);
    this.table.setRows(this.order, this.sort);
  }

  columnSignature() {
    const { run } = this;
    const has = (values) => values.some((value) => value !== null);
    return JSON.stringify([[...run.scores.keys()], has(run.completion_tokens), has(run.cost), has(run.cache_hit_rate), has(run.first_token_p50), ...["malformed", "cut", "empty"].map((name) => has(run[name].map((turns) => turns || null))), has(run.tool_calls.map((calls) => calls || null)), run.repetition.some(Boolean)]);
  }
}

function interval({ low, high }) {
  return low === null || high === null ? "" : `${percent(low)} … ${percent(high)}, `;
}

/** The figures of each environment: a share over several of them hides which one it comes from. */
function environmentTable(figures) {
  const answers = Object.keys(ANSWERS).filter((name) => figures.some((item) => answersOf(item)[name]));
  const serving = figures.some((item) => item.cache || item.first_token);
  const head = ["Environment", "Episodes", "Solved", "95 % interval", "Of", "Mean return", ...answers.map((name) => ANSWERS[name]), ...(serving ? ["Cached", "First token"] : [])];
  const rows = figures.map((item) => [
    plain(item.env, 80),
    whole(item.episodes),
    item.success ? percent(item.success.value) : "–",
    item.success && item.success.low !== null ? `${percent(item.success.low)} … ${percent(item.success.high)}` : "–",
    item.success ? item.counted : "–",
    number(item.return?.value ?? null),
    ...answers.map((name) => answersOf(item)[name]?.map(whole).join(" of ") ?? "–"),
    ...(serving ? [percent(item.cache?.rate ?? null), duration(item.first_token?.p50 ?? null)] : []),
  ]);
  return el("table", { class: "by-environment", "aria-label": "Results by environment" },
    el("thead", {}, el("tr", {}, head.map((text) => el("th", { scope: "col" }, text)))),
    el("tbody", {}, rows.map(([name, ...cells]) => el("tr", {}, el("th", { scope: "row" }, visible(name)), cells.map((text) => el("td", {}, text))))));
}

/** Name → count and denominator of what became of an environment's turns and answers. */
function answersOf(item) {
  return Object.fromEntries(item.answers.map(([name, count, of]) => [name, [count, of]]));
}

/** What the command line notes of the run, and which part of it an exported page holds. */
function notes(run) {
  const ofEnvironments = run.figures.flatMap((item) => item.notes.map((note) => (run.figures.length > 1 ? `${item.env}: ${note}` : note)));
  const said = [...run.hints, ...ofEnvironments];
  if (run.held !== null && run.held.size < run.count) {
    said.unshift(`This page has the conversations of ${whole(run.held.size)} of ${counted(run.count, "episode")}; figures, plots and table are of all.`);
  }
  const most = said.slice(0, MOST_NOTES);
  if (said.length > MOST_NOTES) most.push(`and ${whole(said.length - MOST_NOTES)} more`);
  return said.length ? el("ul", { class: "notes" }, most.map((note) => el("li", {}, visible(plain(note, 400))))) : null;
}

function runningName(entry) {
  if (entry === null || typeof entry !== "object") return "?";
  const key = Array.isArray(entry.key) ? entry.key : [entry.env, entry.seed, entry.repetition];
  const turns = typeof entry.turns === "number" ? ` (turn ${entry.turns})` : "";
  return plain(`seed ${String(key[1] ?? "?")}${turns}`, 60);
}

function money(value) {
  return value === null ? number(value) : String(Number(value.toPrecision(2)));
}

function tableColumns(run) {
  const numeric = (key, label, width, priority, show, values = run[key]) => ({
    key,
    label,
    width,
    priority,
    right: true,
    isQuantity: true,
    value: (row) => values[row] ?? null,
    show: (row) => show(values[row] ?? null),
  });
  const some = (values) => values.some((value) => value !== null && value !== 0);
  const seedValue = (row) => (run.seed[row] === null ? null : Number(run.seed[row]));
  return [
    { key: "env", label: "Environment", width: "minmax(6rem, 4fr)", value: (row) => run.env[row], show: (row) => visible(plain(run.env[row] ?? "–", 100)) },
    { key: "seed", label: "Seed", width: "minmax(3.2rem, 0.7fr)", right: true, value: seedValue, show: (row) => String(run.seed[row] ?? "–") },
    run.repetition.some(Boolean) ? numeric("repetition", "Rep.", "2.4rem", 3, String) : null,
    { key: "outcome", label: "Outcome", width: "6.2rem", value: (row) => run.outcome(row), show: (row) => outcomeBadge(run.outcome(row)) },
    numeric("return", "Return", "minmax(4rem, 0.8fr)", 0, number),
    numeric("turns", "Turns", "minmax(3.4rem, 0.7fr)", 1, number),
    some(run.tool_calls) ? numeric("tool_calls", "Tools", "minmax(3.4rem, 0.7fr)", 3, number) : null,
    some(run.completion_tokens) ? numeric("completion_tokens", "Tokens", "minmax(4rem, 0.8fr)", 2, count) : null,
    some(run.cache_prompt_tokens) ? numeric("cache_hit_rate", "Cached", "minmax(3.6rem, 0.8fr)", 3, percent) : null,
    some(run.first_token_p50) ? numeric("first_token_p50", "First token", "minmax(4rem, 0.8fr)", 3, duration) : null,
    numeric("seconds", "Time", "minmax(3.8rem, 0.8fr)", 2, duration),
    some(run.malformed) ? numeric("malformed", "Malformed", "minmax(5.2rem, 0.8fr)", 3, whole) : null,
    some(run.cut) ? numeric("cut", "Cut off", "minmax(3.6rem, 0.8fr)", 3, whole) : null,
    some(run.empty) ? numeric("empty", "Empty", "minmax(3.4rem, 0.8fr)", 3, whole) : null,
    some(run.cost) ? numeric("cost", "Cost", "minmax(5rem, 0.8fr)", 3, money) : null,
    ...[...run.scores].map(([name, values]) => numeric(`score ${name}`, plain(name, 20), "minmax(4rem, 0.8fr)", 3, number, values)),
    {
      key: "stop",
      label: "Ended by",
      width: "minmax(5.6rem, 1.3fr)",
      priority: 2,
      value: (row) => failureName(run, row) ?? run.stop_reason[row],
      show: (row) => visible(plain(failureName(run, row) ?? run.stop_reason[row] ?? "–", 60)),
    },
  ].filter(Boolean);
}
