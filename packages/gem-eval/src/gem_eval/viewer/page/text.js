// Text of models and environments: control characters are made visible, and long texts are cut.

import { el } from "./dom.js";
import { whole } from "./format.js";

const FIRST = 12000;
const MORE = 100000;

// Controls but tab and line feed; marks that change the direction of text or are not seen; tags; lone surrogates;
// noncharacters. Zero-width joiners stay: emoji and several scripts need them.
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff]|\udb40[\udc00-\udfff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
const RUNS = new RegExp(`(?:${UNSEEN.source})+`, "g");
const LONGEST_RUN = 12;

/**
 * Return nodes for a text in which every unseen character is shown by its name.
 * @param {string} text
 * @returns {(Node|string)[]}
 */
export function visible(text) {
  if (!UNSEEN.test(text)) return [text];
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(RUNS)) {
    nodes.push(text.slice(end, match.index), unseen(match[0]));
    end = match.index + match[0].length;
  }
  nodes.push(text.slice(end));
  return nodes;
}

/** Return the text itself with unseen characters replaced, for labels and tooltips. */
export function plain(text, longest = 300) {
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return cut.replace(RUNS, "\u{fffd}");
}

/**
 * Return an element with a text, of which a long one is shown in parts on demand.
 * @param {string} text
 * @param {string} [className]
 */
export function textBlock(text, className = "") {
  const block = el("div", { class: `text ${className}`, dir: "auto" });
  let shown = 0;
  const more = el("button", { type: "button", class: "more", onclick: () => extend(MORE) });
  function extend(length) {
    const end = boundary(text, shown + length);
    more.remove();
    block.append(...visible(text.slice(shown, end)));
    shown = end;
    if (shown < text.length) {
      more.textContent = `Show more (${whole(text.length - shown)} more characters)`;
      block.append(more);
    }
  }
  extend(text.length <= FIRST * 1.25 ? text.length : FIRST);
  return block;
}

/** Return an end that parts no pair of surrogates. */
function boundary(text, end) {
  if (end >= text.length) return text.length;
  return (text.charCodeAt(end - 1) & 0xfc00) === 0xd800 ? end + 1 : end;
}

function unseen(run) {
  const points = [...run].map((character) => character.codePointAt(0));
  const names = points.slice(0, LONGEST_RUN).map(symbol).join("");
  const rest = points.length > LONGEST_RUN ? `×${whole(points.length)}` : "";
  const codes = points.slice(0, LONGEST_RUN).map(code).join(" ");
  return el("span", { class: "unseen", title: codes, dir: "ltr" }, names + rest);
}

function symbol(point) {
  if (point < 0x20) return String.fromCodePoint(0x2400 + point);
  if (point === 0x7f) return "\u2421";
  return `[${code(point)}]`;
}

function code(point) {
  return `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
}
