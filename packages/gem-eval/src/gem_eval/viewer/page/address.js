// The address of what is shown, after the #: /RUN, /RUN/EPISODE/TURN, /compare/RUN/RUN, with EPISODE/EPISODE/TURN,
// and of all runs together: /runs, /figures.

/** Read the address. */
export function readAddress(hash) {
  const [path, query = ""] = hash.replace(/^#/, "").split("?");
  const steps = path.split("/").filter(Boolean);
  const parameters = new URLSearchParams(query);
  if (steps[0] === "compare") {
    const [one, other, a, b, turn] = steps.slice(1).map(natural);
    const view = a === undefined || b === undefined ? "comparison" : "pair";
    return { view, runs: [one ?? 0, other ?? 1], rows: [a, b], turn: turn ?? 0, parameters };
  }
  if (steps[0] === "runs" || steps[0] === "figures") return { view: steps[0], runs: [], rows: [], turn: 0, parameters };
  const [run, row, turn] = steps.map(natural);
  return { view: row === undefined ? "overview" : "episode", runs: [run ?? 0], rows: [row], turn: turn ?? 0, parameters };
}

export function overviewAddress(run, parameters = "") {
  return `#/${run}${parameters ? `?${parameters}` : ""}`;
}

export function episodeAddress(run, row, turn = 0) {
  return turn ? `#/${run}/${row}/${turn}` : `#/${run}/${row}`;
}

/** The address of the runs in groups, or of their figures. */
export function togetherAddress(view, parameters = "") {
  return `#/${view}${parameters ? `?${parameters}` : ""}`;
}

export function comparisonAddress(one, other, parameters = "") {
  return `#/compare/${one}/${other}${parameters ? `?${parameters}` : ""}`;
}

export function pairAddress(one, other, a, b, turn = 0) {
  return `#/compare/${one}/${other}/${a}/${b}${turn ? `/${turn}` : ""}`;
}

function natural(step) {
  return /^\d{1,9}$/.test(step) ? Number(step) : undefined;
}
