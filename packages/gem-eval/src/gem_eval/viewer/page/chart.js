// Charts in SVG: axes, bars that can be clicked, tooltips.

import { el, setContent, svg } from "./dom.js";
import { number } from "./format.js";
import { ticks } from "./statistics.js";

const WIDTH = 360;
const HEIGHT = 150;
const LEFT = 34;
const RIGHT = 8;
const TOP = 8;
const BOTTOM = 32;

const inner = { left: LEFT, right: WIDTH - RIGHT, top: TOP, bottom: HEIGHT - BOTTOM };

/** Return a card with a title, a remark and a chart. */
export function card(title, remark, ...content) {
  return el("section", { class: "card plot" }, el("h3", {}, title), el("p", { class: "remark" }, remark), content);
}

/**
 * Draw a histogram whose bars consist of a filled part (solved episodes) and the rest.
 * @param {{label: string, total: number, part: number, about: string, chosen: boolean, onChoose: () => void}[]} bars
 * @param {{xLabel: string, yLabel: string, labels: {at: number, text: string}[]}} axes Labels at positions in bars.
 */
export function histogram(bars, axes) {
  const highest = Math.max(1, ...bars.map((bar) => bar.total));
  const y = scale(0, highest, inner.bottom, inner.top);
  const step = (inner.right - inner.left) / Math.max(1, bars.length);
  const gap = Math.min(3, step * 0.15);
  const anyChosen = bars.some((bar) => bar.chosen);
  const drawn = bars.map((bar, index) => {
    const left = inner.left + index * step + gap / 2;
    const width = Math.min(step - gap, 48);
    const x = left + (step - gap - width) / 2;
    const top = bar.total ? Math.min(y(bar.total), inner.bottom - 1) : inner.bottom;
    const middle = y(bar.part);
    const button = svg(
      "g",
      {
        class: `bar${anyChosen && !bar.chosen ? " faded" : ""}`,
        role: "button",
        tabindex: bar.total ? 0 : -1,
        "aria-label": bar.about,
        "aria-pressed": String(bar.chosen),
        "data-tip": bar.about,
        onclick: bar.onChoose,
        onkeydown: (event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          bar.onChoose();
        },
      },
      svg("rect", { class: "hit", x: left, y: inner.top, width: step - gap, height: inner.bottom - inner.top }),
      svg("rect", { class: "rest", x, y: top, width, height: Math.max(0, middle - top) }),
      svg("rect", { class: "part", x, y: middle, width, height: Math.max(0, inner.bottom - middle) }),
    );
    return button;
  });
  const labels = axes.labels.map(({ at, text }) => xLabel(inner.left + at * step, text));
  return chart(axes, [...yAxis(0, highest, y, number, true), ...drawn, ...labels]);
}

/**
 * Draw shares that grow with a whole number.
 * @param {{x: number, y: number, about: string, onChoose: () => void}[]} points
 */
export function curve(points, axes) {
  const last = points.at(-1)?.x ?? 1;
  const x = scale(Math.min(1, last), Math.max(2, last), inner.left + 4, inner.right - 4);
  const y = scale(0, 1, inner.bottom, inner.top);
  const line = points.map(({ x: at, y: share }, index) => `${index ? "L" : "M"}${x(at).toFixed(1)} ${y(share).toFixed(1)}`).join("");
  const area = points.length ? `${line}L${x(last).toFixed(1)} ${inner.bottom}L${x(points[0].x).toFixed(1)} ${inner.bottom}Z` : "";
  const width = points.length > 1 ? x(points[1].x) - x(points[0].x) : 20;
  const targets = points.map((point) =>
    svg(
      "g",
      { class: "spot", "data-tip": point.about, role: "button", "aria-label": point.about, tabindex: points.length > 60 ? -1 : 0, onclick: point.onChoose,
        onkeydown: (event) => { if (event.key === "Enter") point.onChoose(); } },
      svg("rect", { class: "hit", x: x(point.x) - width / 2, y: inner.top, width, height: inner.bottom - inner.top }),
      svg("circle", { cx: x(point.x), cy: y(point.y), r: points.length > 40 ? 1.5 : 3 }),
    ),
  );
  const labels = ticks(Math.min(1, last), last, 5, true).map((at) => xLabel(x(at), number(at)));
  return chart(axes, [
    ...yAxis(0, 1, y, (value) => `${Math.round(value * 100)}%`, false),
    svg("path", { class: "area", d: area }),
    svg("path", { class: "line", d: line }),
    ...targets,
    ...labels,
  ]);
}

/** Show the text of data-tip near the pointer or the focus, for all elements in a container. */
export function tooltips(container) {
  const tip = el("div", { class: "tip", role: "tooltip", hidden: true });
  const show = (event) => {
    const target = event.target.closest?.("[data-tip]");
    tip.hidden = !target;
    if (!target) return;
    setContent(tip, target.getAttribute("data-tip"));
    const box = target.getBoundingClientRect();
    place(tip, event.clientX || box.left + box.width / 2, event.clientY || box.top);
  };
  container.addEventListener("pointermove", show);
  container.addEventListener("focusin", show);
  for (const name of ["pointerleave", "focusout"]) container.addEventListener(name, () => (tip.hidden = true));
  container.append(tip);
}

/** Put a fixed element near a point, inside the window. */
export function place(element, x, y) {
  const { offsetWidth: width, offsetHeight: height } = element;
  element.style.left = `${Math.max(8, Math.min(x + 12, window.innerWidth - width - 8))}px`;
  element.style.top = `${y - height - 12 < 8 ? y + 18 : y - height - 12}px`;
}

function chart(axes, content) {
  return svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "group", "aria-label": `${axes.yLabel} by ${axes.xLabel}` },
    content,
    svg("line", { class: "axis", x1: inner.left, x2: inner.right, y1: inner.bottom + 0.5, y2: inner.bottom + 0.5 }),
    svg("text", { class: "axis-label", x: (inner.left + inner.right) / 2, y: HEIGHT - 3, "text-anchor": "middle" }, axes.xLabel),
  );
}

function yAxis(low, high, y, format, isWhole) {
  return ticks(low, high, 3, isWhole).flatMap((value) => [
    svg("line", { class: "grid", x1: inner.left, x2: inner.right, y1: y(value), y2: y(value) }),
    svg("text", { class: "tick", x: inner.left - 5, y: y(value) + 3.5, "text-anchor": "end" }, format(value)),
  ]);
}

function xLabel(x, text) {
  return svg("text", { class: "tick", x, y: inner.bottom + 14, "text-anchor": "middle" }, text);
}

function scale(low, high, from, to) {
  return (value) => from + ((value - low) / (high - low || 1)) * (to - from);
}
