// What of a run is looked at. A filter is a plain object, and the same in the address of the page.

/** The quantities that a filter can bound, and how a row has them. */
export const RANGES = {
  return: (run, row) => run.return[row],
  turns: (run, row) => run.turns[row],
  tokens: (run, row) => run.completion_tokens[row],
  seconds: (run, row) => run.seconds[row],
  malformed: (run, row) => run.malformed[row],
  cut: (run, row) => run.cut[row],
  empty: (run, row) => run.empty[row],
  group: (run, row) => run.groupShare(row),
};

const CHOICES = {
  env: (run, row) => run.env[row],
  outcome: (run, row) => run.outcome(row),
  failure: (run, row) => failureName(run, row),
  stop: (run, row) => run.stop_reason[row],
  grade: (run, row) => run.grade[row],
};

export const CHOICE_NAMES = Object.keys(CHOICES);
const CONDITION = /^([a-z]+)=(.+)$/;

/** The failure of a row as "source: kind", or null. */
export function failureName(run, row) {
  return run.failureSource[row] === null ? null : `${run.failureSource[row]}: ${run.failureKind[row] ?? "?"}`;
}

/** The value of a row under a choice's name. */
export function choiceOf(run, row, name) {
  return CHOICES[name](run, row);
}

/**
 * The rows of a run that pass a filter.
 * @param {Run} run
 * @param {Object<string, string>} filter Text for "text" and choices; "low..high" for ranges, either end may be missing.
 * @param {string|null} without A condition to leave out.
 */
export function filtered(run, filter, without = null) {
  const tests = [];
  for (const [name, value] of Object.entries(filter)) {
    if (name === without || value === "") continue;
    if (name === "text") tests.push(...value.split(/\s+/).filter(Boolean).map((word) => wordTest(run, word)));
    else tests.push(conditionTest(run, name, value));
  }
  const rows = run.rows();
  return tests.length ? rows.filter((row) => tests.every((test) => test(row))) : rows;
}

/** Read "low..high", "low..", "..high" or a single number; "<" after the dots leaves the high end out. */
export function parseRange(text) {
  const parts = text.split("..");
  const open = parts.length > 1 && parts[1].startsWith("<");
  const low = bound(parts[0], -Infinity);
  const high = parts.length === 1 ? low : bound(open ? parts[1].slice(1) : parts[1], Infinity);
  return { low, high, open };
}

/** Write a range as parseRange reads it. */
export function formatRange(low, high, open = false) {
  return low === high ? String(low) : `${low}..${open ? "<" : ""}${high}`;
}

/** The filter that stands in the parameters of an address. */
export function filterFrom(parameters) {
  const filter = {};
  for (const name of ["text", "said", "seed", ...CHOICE_NAMES, ...Object.keys(RANGES)]) {
    const value = parameters.get(name);
    if (value) filter[name] = value;
  }
  return filter;
}

function bound(text, missing) {
  const value = text.trim() === "" ? missing : Number(text);
  return Number.isNaN(value) ? missing : value;
}

function rangeTest(run, quantity, { low, high, open }) {
  return (row) => {
    const value = quantity(run, row);
    return value !== null && value !== undefined && value >= low && (open ? value < high : value <= high);
  };
}

/** The test of a condition; null for a name that is none. */
function conditionTest(run, name, value) {
  if (name === "said") {
    const rows = run.rowsThatSay(value);
    return (row) => rows !== null && rows.has(row);
  }
  if (name === "seed") return value.includes("..") ? rangeTest(run, (_, row) => Number(run.seed[row]), parseRange(value)) : (row) => String(run.seed[row]) === value;
  if (Object.hasOwn(CHOICES, name)) return (row) => CHOICES[name](run, row) === value;
  return Object.hasOwn(RANGES, name) ? rangeTest(run, RANGES[name], parseRange(value)) : null;
}

/** The test of a word of the search: a condition such as seed=0..3, or what a row must contain. */
function wordTest(run, word) {
  const [, name, value] = CONDITION.exec(word) ?? [];
  const condition = name && conditionTest(run, name, value);
  if (condition) return condition;
  const sought = word.toLowerCase();
  return (row) => {
    const fields = [run.env[row], `seed ${run.seed[row]}`, run.stop_reason[row], failureName(run, row), run.agent[row]];
    return String(run.seed[row]) === word || fields.filter(Boolean).join(" ").toLowerCase().includes(sought);
  };
}
