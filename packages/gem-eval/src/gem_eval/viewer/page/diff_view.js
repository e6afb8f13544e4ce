// Shows a diff of files: what an agent of a repository has changed.

import { el } from "./dom.js";
import { visible } from "./text.js";

/** Lines that are drawn; a longer diff is cut off, and stands whole in the info. */
const MOST_LINES = 3000;

const KINDS = { "+": "added", "-": "removed", "@": "place" };

/** Return an element with the lines of a unified diff. */
export function diffView(text) {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const shown = lines.slice(0, MOST_LINES).map((line) => el("span", { class: kindOf(line) }, visible(line), "\n"));
  if (lines.length > MOST_LINES) shown.push(el("span", { class: "place" }, `… ${lines.length - MOST_LINES} more lines`));
  return el("pre", { class: "text diff" }, shown);
}

function kindOf(line) {
  if (/^(diff |index |--- |\+\+\+ |new file|deleted file)/.test(line)) return "head";
  return KINDS[line[0]] ?? null;
}
