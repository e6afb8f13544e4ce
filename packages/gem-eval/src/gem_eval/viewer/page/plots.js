// The plots of a run: distributions, success by turn and by seed, time. What one clicks becomes the filter.

import { el } from "./dom.js";
import { card, curve, histogram } from "./chart.js";
import { RANGES, filtered, formatRange, parseRange } from "./filter.js";
import { count, counted, duration, number, percent, whole } from "./format.js";
import { seedMap } from "./seed_map.js";
import { plain } from "./text.js";
import { bins, finder, mean, median, sum } from "./statistics.js";

const MOST_ENVIRONMENTS = 6;

const FAULTS = ["malformed", "cut", "empty"];

/**
 * Return the plots of the rows that pass a filter.
 * @param {Run} run
 * @param {object} filter
 * @param {(change: object) => void} onFilter Takes conditions to set; an empty one takes the condition away.
 */
export function plots(run, filter, onFilter) {
  const context = { run, filter, onFilter };
  const cards = [
    distribution(context, "return", "Return", "return", false, number),
    distribution(context, "turns", "Turns", "turns", true, (value) => number(value, 1)),
    distribution(context, "tokens", "Sampled tokens", "tokens in the episode", true, count),
    distribution(context, "malformed", "Malformed turns", "turns that could not be read", true, number),
    distribution(context, "cut", "Turns cut by the token limit", "turns cut", true, number),
    distribution(context, "empty", "Turns empty after reasoning", "turns without an answer", true, number),
    successByTurn(context),
    seedMap(context),
    timeSplit(context),
  ];
  return cards.filter(Boolean);
}

function distribution({ run, filter, onFilter }, name, title, xLabel, isWhole, format) {
  const quantity = RANGES[name];
  const rows = filtered(run, filter, name).filter((row) => isKnown(quantity(run, row)) && run.counts(row));
  const values = rows.map((row) => quantity(run, row));
  // Where no turn was at fault, there is nothing to look at.
  if (!rows.length || (FAULTS.includes(name) && !values.some(Boolean))) return null;
  const borders = bins(values, isWhole, 20);
  const totals = borders.map(() => [0, 0]);
  const find = finder(borders);
  rows.forEach((row, index) => {
    const total = totals[find(values[index])];
    total[0] += 1;
    total[1] += run.success[row] === 1 ? 1 : 0;
  });
  const chosen = filter[name] ? parseRange(filter[name]) : null;
  const bars = borders.map(({ low, high, open }, index) => {
    const [total, part] = totals[index];
    const range = formatRange(low, high, open);
    const words = low === high ? format(low) : `${format(low)} to ${format(high)}`;
    const solved = part ? `, ${whole(part)} solved` : "";
    return {
      total,
      part,
      about: `${xLabel} ${words}: ${counted(total, "episode")}${solved}`,
      chosen: chosen !== null && low >= chosen.low && (high < chosen.high || high === chosen.high),
      onChoose: () => onFilter({ [name]: filter[name] === range ? "" : range }),
    };
  });
  const remark = `mean ${format(mean(values))} · median ${format(median(values))}`;
  return card(title, remark, histogram(bars, { xLabel, yLabel: "episodes", labels: barLabels(borders, format) }));
}

function barLabels(borders, format) {
  if (borders[0].label !== null) {
    const every = Math.ceil(borders.length / 8);
    return borders.map(({ label }, index) => ({ at: index + 0.5, text: format(label) })).filter((_, index) => index % every === 0);
  }
  const every = Math.ceil(borders.length / 5);
  return borders.map(({ low }, index) => ({ at: index, text: format(low) })).filter((_, index) => index % every === 0);
}

function successByTurn({ run, filter, onFilter }) {
  const rows = filtered(run, filter, "turns").filter((row) => run.success[row] !== null);
  if (!rows.length) return null;
  const last = rows.reduce((most, row) => Math.max(most, run.turns[row] ?? 0), 1);
  const ended = new Array(last + 1).fill(0);
  for (const row of rows) if (run.success[row] === 1) ended[Math.max(0, run.turns[row])] += 1;
  const step = Math.max(1, Math.ceil(last / 200));
  const points = [];
  let solved = ended[0];
  for (let turn = 1; turn <= last; turn++) {
    solved += ended[turn];
    if (turn % step && turn !== last) continue;
    const share = solved / rows.length;
    points.push({
      x: turn,
      y: share,
      about: `within ${counted(turn, "turn")}: ${percent(share)} solved (${whole(solved)} of ${whole(rows.length)})`,
      onChoose: () => onFilter({ turns: `..${turn}`, outcome: "solved" }),
    });
  }
  const remark = `${percent(solved / rows.length)} of ${whole(rows.length)} solved at the end`;
  return card("Success by turn", remark, curve(points, { xLabel: "turn", yLabel: "solved within" }));
}

function timeSplit({ run, filter, onFilter }) {
  const rows = filtered(run, filter).filter((row) => isKnown(run.act_seconds[row]) || isKnown(run.step_seconds[row]));
  if (!rows.length) return null;
  const groups = new Map();
  for (const row of rows) {
    if (!groups.has(run.env[row])) groups.set(run.env[row], []);
    groups.get(run.env[row]).push(row);
  }
  const parts = [...groups].map(([env, members]) => {
    const model = sum(members.map((row) => run.act_seconds[row]));
    const environment = sum(members.map((row) => run.step_seconds[row]));
    const whole = sum(members.map((row) => run.seconds[row]));
    return { env, episodes: members.length, model, environment, other: Math.max(0, whole - model - environment) };
  });
  parts.sort((one, other) => total(other) - total(one));
  const model = sum(parts.map((part) => part.model));
  const environment = sum(parts.map((part) => part.environment));
  const turns = sum(rows.map((row) => run.turns[row])) || 1;
  const bars = parts.slice(0, MOST_ENVIRONMENTS).map((part) => timeBar(part, () => onFilter({ env: filter.env === part.env ? "" : part.env })));
  const more = parts.length > MOST_ENVIRONMENTS ? el("p", { class: "remark" }, `and ${counted(parts.length - MOST_ENVIRONMENTS, "environment")} more`) : null;
  const legend = el(
    "p",
    { class: "legend" },
    el("span", { class: "key model" }, `model ${duration(model / turns)} a turn`),
    el("span", { class: "key environment" }, `environment ${duration(environment / turns)}`),
    el("span", { class: "key other" }, "other"),
  );
  return card("Time", `${duration(sum(parts.map(total)))} in ${counted(rows.length, "episode")}`, el("div", { class: "time-bars" }, bars), more, legend);
}

function timeBar(part, onChoose) {
  const whole = total(part) || 1;
  const shares = ["model", "environment", "other"].map((name) => {
    const piece = el("span", { class: name });
    piece.style.width = `${(100 * part[name]) / whole}%`;
    return piece;
  });
  const name = plain(part.env ?? "", 80);
  const split = ["model", "environment", "other"].map((piece) => `${piece} ${percent(part[piece] / whole)}`).join(", ");
  const about = `${name}: ${duration(total(part) / part.episodes)} an episode; ${split}`;
  return el(
    "button",
    { type: "button", class: "time-bar", "data-tip": about, "aria-label": about, onclick: onChoose },
    el("span", { class: "name" }, name),
    el("span", { class: "figure" }, duration(total(part) / part.episodes)),
    el("span", { class: "track" }, shares),
  );
}

function total(part) {
  return part.model + part.environment + part.other;
}

function isKnown(value) {
  return value !== null && value !== undefined;
}
