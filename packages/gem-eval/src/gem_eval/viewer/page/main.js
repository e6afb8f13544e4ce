// The page: fetches the runs, shows the view that the address names, and keeps up with runs that go on.

import { comparisonAddress, episodeAddress, overviewAddress, pairAddress, readAddress, togetherAddress } from "./address.js";
import { Comparison } from "./comparison.js";
import { el, setContent } from "./dom.js";
import { EpisodePage } from "./episode_page.js";
import { FiguresView } from "./figures_view.js";
import { filterFrom } from "./filter.js";
import { isTyping, startHelp } from "./help.js";
import { Overview } from "./overview.js";
import { Run } from "./run.js";
import { RunsView } from "./runs_view.js";
import { openSource } from "./source.js";
import { plain, visible } from "./text.js";
import { startTheme } from "./theme.js";

const LIVE_INTERVAL = 1000;
const IDLE_INTERVAL = 5000;
const RESULT_CONDITIONS = ["verdict", "difference", "text"];

const main = document.getElementById("main");
const tabs = document.getElementById("tabs");
const source = openSource();

/** @type {Run[]} */
let runs = [];
/** Views that keep their place in the table, by their address. */
const kept = new Map();
/** The view that is in the page. */
let shown = null;
/** Address of the table from which an episode was opened. */
let tableAddress = null;

const toggleHelp = startHelp(document.getElementById("help"));
startTheme(document.getElementById("theme"), () => shown?.redrawColours?.());
start();

async function start() {
  try {
    const facts = await source.runs();
    runs = facts.map((one, number) => new Run(source, number, one));
    await Promise.all(runs.map((run) => run.refresh()));
  } catch (error) {
    setContent(main, el("p", { class: "notice bad" }, "The runs cannot be read: ", visible(plain(String(error.message), 600))));
    return;
  }
  window.addEventListener("hashchange", route);
  document.addEventListener("keydown", onKey);
  route();
  for (const run of runs) {
    run.onFigures = () => figuresCame(run);
    run.onSearched = () => shown instanceof Overview && shown.run === run && shown.searched();
  }
  document.documentElement.dataset.ready = "true";
  for (const run of runs) await readRest(run);
  if (source.grows) setTimeout(poll, LIVE_INTERVAL);
}

function route() {
  const address = readAddress(location.hash);
  const known = address.runs.every((run) => run < runs.length) && (address.view !== "comparison" || runs.length > 1);
  if (!known || (location.hash === "" && runs.length > 1)) {
    location.replace(runs.length > 2 ? togetherAddress("runs") : runs.length > 1 ? comparisonAddress(0, 1) : overviewAddress(0));
    return;
  }
  drawTabs(address);
  if (address.view === "runs" || address.view === "figures") showTogether(address);
  else if (address.view === "overview" || address.view === "comparison") showTable(address);
  else showEpisode(address);
}

function showTable(address) {
  const { view, runs: numbers, parameters } = address;
  const name = `${view} ${numbers.join(" ")}`;
  let page = kept.get(name);
  if (!page) kept.set(name, (page = view === "overview" ? overview(numbers[0]) : comparison(...numbers)));
  page.address = address;
  tableAddress = location.hash || overviewAddress(0);
  const isBack = shown !== page;
  if (isBack) replaceShown(page);
  page.show(conditionsOf(address), sortOf(parameters));
  if (isBack) {
    page.attach();
    window.scrollTo(0, page.scrolled ?? 0);
    if (page.opened !== undefined) page.table.focus(page.order.indexOf(page.opened));
    page.opened = undefined;
  }
  document.title = `${plain(runs[numbers[0]].facts.name ?? "Run", 60)} · GEM`;
}

function showTogether({ view, parameters }) {
  let page = kept.get(view);
  if (!page) {
    const onChange = (change) => {
      const next = new URLSearchParams({ ...Object.fromEntries(readAddress(location.hash).parameters), ...change });
      history.replaceState(null, "", togetherAddress(view, next));
      route();
    };
    kept.set(view, (page = view === "runs" ? new RunsView(source, runs, onChange) : new FiguresView(source, runs, onChange)));
  }
  const isBack = shown !== page;
  if (isBack) replaceShown(page);
  page.show(Object.fromEntries(parameters));
  if (isBack) window.scrollTo(0, page.scrolled ?? 0);
  document.title = `${view === "runs" ? "Runs" : "Figures"} · GEM`;
}

function showEpisode(address) {
  const { view, runs: numbers, rows, turn } = address;
  if (shown instanceof EpisodePage && shown.isOf(view, numbers, rows)) {
    shown.go(turn);
    return;
  }
  if (rows.some((row, index) => row >= runs[numbers[Math.min(index, numbers.length - 1)]].count)) {
    replaceShown({ element: el("p", { class: "notice bad" }, "There is no such episode.") });
    return;
  }
  const page = new EpisodePage(view, numbers.map((number) => runs[number]), rows, {
    table: tableAddress ?? (view === "pair" ? comparisonAddress(...numbers) : overviewAddress(numbers[0])),
    address: (at) => (view === "pair" ? pairAddress(...numbers, ...rows, at) : episodeAddress(numbers[0], rows[0], at)),
    beside: (step) => beside(view, numbers, rows, step),
    position: positionOf(view, numbers, rows),
  });
  replaceShown(page);
  window.scrollTo(0, 0);
  page.open(turn);
  document.title = `${page.title} · GEM`;
}

function replaceShown(page) {
  if (shown) {
    shown.scrolled = window.scrollY;
    shown.detach?.();
  }
  shown = page;
  setContent(main, page.element);
}

function overview(number) {
  const page = new Overview(runs[number], {
    address: (row) => episodeAddress(number, row),
    onFilter: (change) => changeParameters(page, change),
    onSort: (key) => changeSort(page, key),
  });
  return page;
}

function comparison(one, other) {
  const page = new Comparison(runs[one], runs[other], {
    address: (pair) => pairAddress(one, other, pair.a, pair.b),
    onFilter: (change) => changeParameters(page, change),
    onSort: (key) => changeSort(page, key),
  });
  return page;
}

/** Set conditions of the filter; null takes all away. The address holds them, so that it can be passed on. */
function changeParameters(page, change) {
  const { view, runs: numbers, parameters } = page.address;
  const next = new URLSearchParams(change === null ? (parameters.has("sort") ? [["sort", parameters.get("sort")]] : []) : parameters);
  for (const [name, value] of Object.entries(change ?? {})) {
    if (value === "") next.delete(name);
    else next.set(name, value);
  }
  const address = view === "overview" ? overviewAddress(numbers[0], next) : comparisonAddress(...numbers, next);
  history.replaceState(null, "", address);
  route();
}

/** Sort by a column, first as one mostly wants it; once more turns the order, and then takes it away. */
function changeSort(page, key) {
  const sort = sortOf(page.address.parameters);
  const isDownFirst = page.table.columns.find((column) => column.key === key)?.isQuantity ?? false;
  const orders = isDownFirst ? [`-${key}`, key, ""] : [key, `-${key}`, ""];
  const present = sort.key === key ? orders.indexOf(`${sort.down ? "-" : ""}${key}`) : -1;
  changeParameters(page, { sort: orders[present + 1] });
}

function sortOf(parameters) {
  const text = parameters.get("sort") ?? "";
  return { key: text.replace(/^-/, ""), down: text.startsWith("-") };
}

function conditionsOf({ view, parameters }) {
  if (view === "overview") return filterFrom(parameters);
  return Object.fromEntries(RESULT_CONDITIONS.filter((name) => parameters.get(name)).map((name) => [name, parameters.get(name)]));
}

/** The rows of the table from which an episode was opened, else those of the run. */
function tableRows(view, numbers) {
  const page = kept.get(view === "pair" ? `comparison ${numbers.join(" ")}` : `overview ${numbers[0]}`);
  if (view === "pair") return page ? page.order.map((index) => [page.pairs[index].a, page.pairs[index].b]) : [];
  return (page ? page.order : runs[numbers[0]].rows()).map((row) => [row]);
}

function positionOf(view, numbers, rows) {
  const listed = tableRows(view, numbers);
  const index = listed.findIndex((each) => each.every((row, side) => row === rows[side]));
  return { index, count: listed.length };
}

/** Go to the episode that is a number of rows further in the table. */
function beside(view, numbers, rows, step) {
  const listed = tableRows(view, numbers);
  const next = listed[positionOf(view, numbers, rows).index + step];
  if (!next) return;
  location.hash = view === "pair" ? pairAddress(...numbers, ...next) : episodeAddress(numbers[0], next[0]);
  route(); // the event of the address comes later, and the next key must already find the next episode
}

function drawTabs(address) {
  const tab = (href, label, current) => el("a", { href, "aria-current": current ? "page" : null }, label);
  const inTable = address.view === "overview" || address.view === "episode";
  const links = runs.map((run, number) => tab(overviewAddress(number), plain(run.facts.name ?? `run ${number + 1}`, 40), inTable && address.runs[0] === number));
  const isPair = address.view === "comparison" || address.view === "pair";
  const together = [tab(togetherAddress("figures"), "Figures", address.view === "figures")];
  if (runs.length > 1) {
    const [one, other] = isPair ? address.runs : [0, address.runs[0] || 1];
    together.unshift(tab(togetherAddress("runs"), "Runs", address.view === "runs"), tab(comparisonAddress(one, other), "Comparison", isPair));
    if (runs.length > 2 && isPair) links.push(...chooseSides(one, other));
  }
  links.unshift(...together);
  setContent(tabs, links);
}

/** With more than two runs: the choice of the two that are compared. */
function chooseSides(one, other) {
  return [one, other].map((chosen, side) => {
    const options = runs.map((run, number) => el("option", { value: number, selected: number === chosen }, plain(run.facts.name ?? "", 40)));
    const select = el("select", { "aria-label": `Run ${"AB"[side]}` }, options);
    select.addEventListener("change", () => {
      const number = Number(select.value);
      location.hash = side ? comparisonAddress(one, number) : comparisonAddress(number, other);
    });
    return select;
  });
}

async function poll() {
  let grown = false;
  if (!document.hidden) {
    const wasLive = runs.map((run) => run.live !== null);
    const news = await Promise.all(runs.map((run) => run.refresh().catch(() => false)));
    grown = news.some(Boolean) || runs.some((run, index) => (run.live !== null) !== wasLive[index]);
  }
  const isLive = runs.some((run) => run.live !== null);
  if (shown instanceof Overview && (grown || shown.run.live !== null)) {
    if (grown) refreshTable();
    else shown.drawLive();
  } else if (grown && shown instanceof Comparison) {
    refreshTable();
  } else if (grown && (shown instanceof RunsView || shown instanceof FiguresView)) {
    route();
  }
  setTimeout(poll, isLive ? LIVE_INTERVAL : IDLE_INTERVAL);
}

/** Read the rows of a large run that did not come with the first answer. */
async function readRest(run) {
  while (run.isPartial() && (await run.refresh().catch(() => false))) {
    if (shown?.table && !run.isPartial()) refreshTable();
    else if (shown instanceof Overview) shown.drawLive();
  }
}

function figuresCame(run) {
  if (shown instanceof Overview && shown.run === run) {
    shown.drawFigures();
    shown.drawLive();
  } else if (shown instanceof FiguresView) route();
}

/** Draw the table anew without taking the focus from a row. */
function refreshTable() {
  const focused = shown.table.focused();
  const row = focused < 0 ? undefined : shown.order[focused];
  shown.show(conditionsOf(shown.address), sortOf(shown.address.parameters));
  if (row !== undefined) shown.table.drawn.get(shown.order.indexOf(row))?.querySelector("a.open")?.focus({ preventScroll: true });
}

function onKey(event) {
  if (event.key === "?" && !isTyping(event)) return toggleHelp();
  if (event.key === "Escape" && event.target instanceof HTMLInputElement) return event.target.blur();
  if (isTyping(event)) return undefined;
  if (shown instanceof EpisodePage) return shown.onKey(event);
  if (!shown?.table) return undefined;
  if (event.key === "/") {
    event.preventDefault();
    shown.element.querySelector("input[type=search]").focus();
  } else if (event.key === "j" || event.key === "k") {
    const focused = shown.table.focused();
    shown.table.focus(focused < 0 ? 0 : focused + (event.key === "j" ? 1 : -1));
  }
  return undefined;
}

main.addEventListener("click", (event) => {
  const link = event.target.closest?.("a.open");
  if (link && shown?.order) shown.opened = shown.order[Number(link.dataset.index)];
});
