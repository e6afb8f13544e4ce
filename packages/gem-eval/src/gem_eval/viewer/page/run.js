// A run as columns, growing while it goes on.

const NUMBERS = ["repetition", "return", "turns", "prompt_tokens", "completion_tokens", "seconds"].concat(
  ["act_seconds", "step_seconds", "tool_calls", "started_at", "cost", "success", "seed", "malformed", "cut", "empty"],
  ["cached_tokens", "cache_prompt_tokens", "cache_hit_rate", "first_token_p50", "token_calls", "exact_calls"],
);
const NAMES = ["env", "stop_reason", "agent", "source", "kind", "outcome", "grade"];
const OUTCOMES = { succeeded: "solved", unsuccessful: "unsolved", incomplete: "unsolved", unknown: "unknown", untold: "scored" };

/** Repetitions from here on make no number together with that of their group. */
const MOST_REPETITIONS = 2 ** 20;

export class Run {
  /**
   * @param {object} source Where rows and episodes come from.
   * @param {number} number The position of the run in the source.
   * @param {object} facts What the source says of the run as a whole.
   */
  constructor(source, number, facts) {
    this.source = source;
    this.number = number;
    this.facts = facts;
    this.live = null;
    this.generation = 0;
    /** The rows that the source has. */
    this.total = 0;
    /** The figures of each environment over all episodes of the run, as the command line prints them. */
    this.figures = [];
    /** The mean success over the environments, each weighing the same; null with fewer than two. */
    this.overall = null;
    /** What is wrong with many answers, and what to do. */
    this.hints = [];
    /** Is called when the figures have come, or have changed. */
    this.onFigures = null;
    this.asking = false;
    /** Is called when conversations have been searched. */
    this.onSearched = null;
    this.said = null;
    /** The rows whose conversation the source has; null for all. */
    this.held = null;
    this.clear();
  }

  /** Ask for new rows; true if there are any. */
  async refresh() {
    const batch = await this.source.rows(this.number, this.count, this.generation);
    this.live = batch.live ?? null;
    if (batch.figures) this.take(batch);
    this.held = batch.held ? new Set(batch.held) : null;
    this.total = batch.total ?? batch.count;
    const anew = batch.generation !== this.generation;
    if (anew) {
      this.generation = batch.generation;
      this.clear();
    }
    if (batch.from === this.count && batch.count) this.append(batch);
    if (!batch.figures && batch.count && !this.isPartial()) this.askForFigures();
    return anew || batch.count > 0;
  }

  /** Whether the source can look into conversations. */
  canSearch() {
    return this.source.search !== undefined;
  }

  /**
   * The rows whose conversations say a text; null while they are being looked for.
   * @param {string} text
   */
  rowsThatSay(text) {
    if (this.said?.text !== text || this.said.count !== this.count) {
      const asked = (this.said = { text, count: this.count, rows: null });
      this.source.search?.(this.number, text).then(
        (rows) => {
          asked.rows = new Set(rows);
          if (this.said === asked) this.onSearched?.();
        },
        () => (asked.rows = new Set()),
      );
    }
    return this.said.rows;
  }

  /** Whether the source has rows that were not read yet: those of a large run come in several answers. */
  isPartial() {
    return this.count < this.total;
  }

  take({ figures, overall, hints }) {
    this.figures = figures;
    this.overall = overall ?? null;
    this.hints = hints ?? [];
    this.onFigures?.();
  }

  /** Ask for the figures of a large run, which come after its rows; not again while they are being reckoned. */
  async askForFigures() {
    if (this.asking) return;
    this.asking = true;
    try {
      const found = await this.source.summary(this.number);
      this.asking = false;
      this.take(found);
    } catch {
      this.asking = false; // the next rows ask again
    }
  }

  episode(number) {
    return this.source.episode(this.number, number);
  }

  /** The key of an episode in its run. */
  key(row) {
    return `${this.env[row]}\u0000${this.seed[row]}\u0000${this.repetition[row]}`;
  }

  /** "solved", "unsolved", "unknown" if anything but the agent failed, "scored" where the environment does not say. */
  outcome(row) {
    return OUTCOMES[this.decided[row]] ?? "unknown";
  }

  /** Whether an episode counts in means: nothing failed, or the agent itself. */
  counts(row) {
    return this.failureSource[row] === null || this.failureSource[row] === "agent";
  }

  clear() {
    this.count = 0;
    for (const name of NUMBERS) this[name] = [];
    this.env = [];
    this.stop_reason = [];
    this.agent = [];
    this.decided = [];
    this.grade = [];
    this.failureSource = [];
    this.failureKind = [];
    this.scores = new Map();
    /** Group and repetition → the latest row with them, which is the one that counts. */
    this.latest = new Map();
    /** The number of the group of each row: all episodes of one seed. */
    this.groupOf = [];
    this.groupNumbers = new Map();
    this.groupCount = 0;
    this.solved = [];
    this.known = [];
    /** The rows in the order of their seeds; null until somebody asks. */
    this.order = null;
  }

  append(batch) {
    for (const name of NUMBERS) this[name] = this.count ? this[name].concat(batch[name]) : batch[name];
    const lists = { source: this.failureSource, kind: this.failureKind, outcome: this.decided };
    for (const name of NAMES) {
      const { names, codes } = batch[name];
      const list = lists[name] ?? this[name];
      for (const code of codes) list.push(code < 0 ? null : names[code]);
    }
    for (const [name, values] of Object.entries(batch.scores)) {
      const column = this.scores.get(name) ?? new Array(this.count).fill(null);
      column.push(...values);
      this.scores.set(name, column);
    }
    const end = this.count + batch.count;
    for (const column of this.scores.values()) while (column.length < end) column.push(null);
    for (let row = this.count; row < end; row++) {
      const group = this.groupNumber(this.env[row], this.seed[row]);
      const repetition = this.repetition[row];
      this.groupOf.push(group);
      this.latest.set(repetition < MOST_REPETITIONS ? group * MOST_REPETITIONS + repetition : `${group} ${repetition}`, row);
    }
    this.count = end;
    this.order = null;
    this.countGroups();
  }

  /** The rows that count: of each key the latest. */
  rows() {
    return [...this.latest.values()];
  }

  groupNumber(env, seed) {
    let seeds = this.groupNumbers.get(env);
    if (!seeds) this.groupNumbers.set(env, (seeds = new Map()));
    let number = seeds.get(seed);
    if (number === undefined) seeds.set(seed, (number = this.groupCount++));
    return number;
  }

  /** Rows in the order of their seeds, and within a seed of environment and repetition. */
  inOrder(rows) {
    this.order ??= this.sortBySeed(this.rows());
    if (rows.length === this.order.length) return this.order;
    const shown = new Set(rows);
    return this.order.filter((row) => shown.has(row));
  }

  sortBySeed(rows) {
    const seeds = this.seed.map(Number);
    const places = new Map([...new Set(this.env)].sort().map((env, place) => [env, place]));
    const env = this.env.map((name) => places.get(name));
    const { repetition } = this;
    return [...rows].sort((a, b) => seeds[a] - seeds[b] || env[a] - env[b] || repetition[a] - repetition[b] || a - b);
  }

  /** Share of solved episodes in the group of a row, or null. */
  groupShare(row) {
    const group = this.groupOf[row];
    return this.known[group] ? this.solved[group] / this.known[group] : null;
  }

  countGroups() {
    this.solved = new Uint32Array(this.groupCount);
    this.known = new Uint32Array(this.groupCount);
    for (const row of this.latest.values()) {
      if (this.success[row] === null) continue;
      this.known[this.groupOf[row]] += 1;
      this.solved[this.groupOf[row]] += this.success[row];
    }
  }
}
