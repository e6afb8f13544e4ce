// Two runs, seed by seed: the episodes that both have.

/**
 * @typedef {{a: number, b: number, difference: number|null, verdict: string}} Pair Rows in both runs.
 */

/**
 * Return the pairs of two runs.
 * @param {Run} one
 * @param {Run} other
 * @returns {Pair[]}
 */
export function pairs(one, other) {
  const found = [];
  const others = new Map(other.rows().map((row) => [other.key(row), row]));
  for (const a of one.rows()) {
    const b = others.get(one.key(a));
    if (b === undefined) continue;
    const known = one.return[a] !== null && other.return[b] !== null;
    found.push({ a, b, difference: known ? other.return[b] - one.return[a] : null, verdict: verdict(one.outcome(a), other.outcome(b)) });
  }
  return found;
}

export const VERDICTS = {
  both: "both solved",
  first: "only A solved",
  second: "only B solved",
  neither: "neither solved",
  failed: "failed or unknown",
};

function verdict(a, b) {
  const isKnown = (outcome) => outcome === "solved" || outcome === "unsolved";
  if (!isKnown(a) || !isKnown(b)) return "failed";
  if (a === b) return a === "solved" ? "both" : "neither";
  return a === "solved" ? "first" : "second";
}
