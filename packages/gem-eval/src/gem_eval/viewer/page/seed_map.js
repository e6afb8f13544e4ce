// Success by seed: one cell for each group of episodes, on a canvas, as there may be tens of thousands.

import { el } from "./dom.js";
import { card } from "./chart.js";
import { filtered } from "./filter.js";
import { counted, number, percent } from "./format.js";
import { plain } from "./text.js";

const WIDTH = 318;
const HEIGHT = 112;
const LARGEST = 18;

/** Return the card with the cells of all seeds that pass the filter. */
export function seedMap({ run, filter, onFilter }) {
  const groups = groupsOf(run, filtered(run, filter, "seed"));
  if (!groups.length) return null;
  const size = cellSize(groups.length);
  const across = Math.floor(WIDTH / size);
  const canvas = el("canvas", {
    class: "seeds",
    tabindex: 0,
    role: "application",
    "aria-label": "Success by seed. The arrow keys move over the seeds, Enter filters.",
  });
  const tip = el("p", { class: "remark", "aria-live": "polite" }, "a cell for each seed");
  let at = -1;
  const redraw = () => draw(canvas, groups, size, across, at, filter.seed);
  const choose = (index) => {
    const group = groups[index];
    if (!group) return;
    const chosen = filter.seed === String(group.seed) && (!filter.env || filter.env === group.env);
    onFilter(chosen ? { seed: "", env: "" } : { seed: String(group.seed), env: group.env ?? "" });
  };
  const look = (index) => {
    at = groups[index] ? index : -1;
    tip.textContent = at < 0 ? "a cell for each seed" : about(groups[at]);
    redraw();
  };
  const indexAt = (event) => {
    const box = canvas.getBoundingClientRect();
    const unit = (size * box.width) / WIDTH;
    const column = Math.floor((event.clientX - box.left) / unit);
    return column < across ? Math.floor((event.clientY - box.top) / unit) * across + column : -1;
  };
  canvas.addEventListener("pointermove", (event) => look(indexAt(event)));
  canvas.addEventListener("pointerleave", () => look(-1));
  canvas.addEventListener("click", (event) => choose(indexAt(event)));
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across }[event.key];
    if (step) look(Math.max(0, Math.min(groups.length - 1, at + step)));
    else if (event.key === "Enter") choose(at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  // Colours follow the theme.
  canvas.redraw = redraw;
  queueMicrotask(redraw);
  const rates = groups.map((group) => group.share).filter((share) => share !== null);
  const always = rates.filter((share) => share === 1).length;
  const never = rates.filter((share) => share === 0).length;
  const remark = rates.length
    ? `${counted(groups.length, "seed")}: ${always} always solved, ${never} never`
    : `${counted(groups.length, "seed")}, by mean return`;
  return card("Success by seed", remark, canvas, tip);
}

function groupsOf(run, rows) {
  const groups = new Map();
  for (const row of rows) {
    const number = run.groupOf[row];
    let group = groups.get(number);
    if (!group) groups.set(number, (group = { env: run.env[row], seed: run.seed[row], solved: 0, known: 0, total: 0, scored: 0 }));
    if (!run.counts(row)) continue;
    if (run.success[row] !== null) {
      group.known += 1;
      group.solved += run.success[row];
    }
    if (run.return[row] !== null) {
      group.scored += 1;
      group.total += run.return[row];
    }
  }
  const found = [...groups.values()];
  for (const group of found) {
    group.share = group.known ? group.solved / group.known : null;
    group.return = group.scored ? group.total / group.scored : null;
  }
  const returns = found.map((group) => group.return).filter((value) => value !== null);
  const low = returns.reduce((least, value) => Math.min(least, value), Infinity);
  const high = returns.reduce((most, value) => Math.max(most, value), -Infinity);
  for (const group of found) {
    group.shade = group.share ?? (group.return === null ? null : (group.return - low) / (high - low || 1));
  }
  const order = (value) => (typeof value === "number" ? value : Number(value));
  return found.sort((one, other) => (one.env < other.env ? -1 : one.env > other.env ? 1 : order(one.seed) - order(other.seed)));
}

function cellSize(cells) {
  for (let size = LARGEST; size > 1; size -= size > 6 ? 1 : 0.5) {
    if (Math.floor(WIDTH / size) * Math.floor(HEIGHT / size) >= cells) return size;
  }
  return 1;
}

function draw(canvas, groups, size, across, at, chosenSeed) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = WIDTH * scale;
  canvas.height = HEIGHT * scale;
  const style = getComputedStyle(canvas);
  const [full, none, unknown, ink] = ["--part", "--empty", "--line", "--ink"].map((name) => style.getPropertyValue(name));
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  const gap = size > 8 ? 2 : size > 4 ? 1 : 0;
  groups.forEach((group, index) => {
    const x = (index % across) * size;
    const y = Math.floor(index / across) * size;
    pen.globalAlpha = chosenSeed && String(group.seed) !== chosenSeed ? 0.3 : 1;
    pen.fillStyle = group.shade === null ? unknown : none;
    pen.fillRect(x, y, size - gap, size - gap);
    if (group.shade) {
      pen.globalAlpha *= 0.15 + 0.85 * group.shade;
      pen.fillStyle = full;
      pen.fillRect(x, y, size - gap, size - gap);
    }
    if (index === at) {
      pen.globalAlpha = 1;
      pen.strokeStyle = ink;
      pen.lineWidth = 1.5;
      pen.strokeRect(x - 0.5, y - 0.5, size - gap + 1, size - gap + 1);
    }
  });
}

function about(group) {
  const name = `${plain(group.env ?? "", 60)}, seed ${group.seed}`;
  if (group.share !== null) return `${name}: ${percent(group.share)} of ${counted(group.known, "episode")} solved`;
  return group.return === null ? `${name}: failed` : `${name}: mean return ${number(group.return)}`;
}
