// Sampled tokens coloured by their probability, with the alternatives of each.

import { el, setContent } from "./dom.js";
import { place } from "./chart.js";
import { percent, whole } from "./format.js";
import { plain, visible } from "./text.js";

const FIRST = 3000;
const MOST_ALTERNATIVES = 8;
// Upper bounds of the probability in each of the classes p0 (least likely) to p4; above them a token is plain.
const BOUNDS = [0.05, 0.2, 0.5, 0.75, 0.9];

/** Whether a turn has tokens that can be shown. */
export function hasTokens(turn) {
  return turn.tokenCount > 0;
}

/**
 * Return the sampled tokens of a turn.
 * @param {Turn} turn
 */
export function tokenView(turn) {
  const stream = el("div", {
    class: "text tokens",
    tabindex: 0,
    role: "group",
    "aria-label": `${turn.tokenCount} sampled tokens. The left and right keys move over them.`,
  });
  const tip = el("div", { class: "tip token-tip", hidden: true, "aria-live": "polite" });
  let drawn = 0;
  let current = null;
  const more = el("button", { type: "button", class: "more", onclick: () => extend(10 * FIRST) });
  function extend(amount) {
    const end = Math.min(turn.tokenCount, drawn + amount);
    const added = [];
    for (let index = drawn; index < end; index++) added.push(tokenSpan(turn, index));
    more.remove();
    stream.append(...added);
    drawn = end;
    if (drawn < turn.tokenCount) {
      more.textContent = `Show more (${whole(turn.tokenCount - drawn)} more tokens)`;
      stream.append(more);
    }
  }
  function look(span) {
    current?.classList.remove("current");
    current = span;
    tip.hidden = !span;
    if (!span) return;
    span.classList.add("current");
    setContent(tip, describe(turn, Number(span.dataset.token)));
    const box = span.getBoundingClientRect();
    place(tip, box.left, box.top);
  }
  stream.addEventListener("pointerover", (event) => look(event.target.closest("[data-token]")));
  stream.addEventListener("pointerleave", () => look(null));
  stream.addEventListener("focusout", () => look(null));
  stream.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || event.target !== stream) return;
    event.preventDefault();
    event.stopPropagation();
    const next = current ? Number(current.dataset.token) + step : 0;
    look(stream.querySelector(`[data-token="${next}"]`) ?? current);
  });
  extend(FIRST);
  return [stream, tip];
}

function tokenSpan(turn, index) {
  const text = turn.tokens?.[index];
  const shown = typeof text === "string" ? visible(text) : [`${turn.tokenIds?.[index] ?? "?"} `];
  return el("span", { class: `token ${classOf(turn.logprobs?.[index])}`, "data-token": index }, shown);
}

function classOf(logprob) {
  if (typeof logprob !== "number") return "";
  const probability = Math.exp(logprob);
  const index = BOUNDS.findIndex((bound) => probability < bound);
  return index < 0 ? "" : `p${index}`;
}

function describe(turn, index) {
  const logprob = turn.logprobs?.[index];
  const facts = [`token ${index + 1}`];
  const id = turn.tokenIds?.[index];
  if (id !== undefined) facts.push(`id ${id}`);
  if (typeof logprob === "number") facts.push(`log-probability ${logprob.toFixed(3)}`);
  const own = turn.tokens?.[index];
  const alternatives = (turn.topLogprobs?.[index] ?? []).slice(0, MOST_ALTERNATIVES);
  return [
    el("p", { class: "facts" }, facts.join(" · ")),
    typeof logprob === "number" ? bar(typeof own === "string" ? own : String(id ?? ""), logprob, true) : null,
    alternatives.filter((pair) => Array.isArray(pair) && pair[0] !== own).map(([text, value]) => bar(String(text), value, false)),
  ];
}

function bar(text, logprob, isOwn) {
  const probability = typeof logprob === "number" ? Math.min(1, Math.exp(logprob)) : 0;
  const length = el("span", { class: "length" });
  length.style.width = `${Math.max(1, 100 * probability)}%`;
  const name = JSON.stringify(plain(text, 30)).slice(1, -1).replaceAll('\\"', '"') || "(nothing)";
  return el(
    "div",
    { class: `alternative${isOwn ? " own" : ""}` },
    el("code", {}, name),
    el("span", { class: "track" }, length),
    el("span", { class: "figure" }, percent(probability)),
  );
}

/** What the colours mean. */
export function tokenLegend() {
  const names = ["< 5%", "5–20%", "20–50%", "50–75%", "75–90%"];
  return el(
    "p",
    { class: "legend token-legend" },
    "probability of the sampled token ",
    names.map((name, index) => el("span", { class: `token p${index}` }, name)),
    "plain above",
  );
}
