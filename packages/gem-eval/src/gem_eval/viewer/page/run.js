// A run as columns, growing while it goes on.

const NUMBERS = ["repetition", "return", "turns", "prompt_tokens", "completion_tokens", "seconds"].concat(
  ["act_seconds", "step_seconds", "tool_calls", "started_at", "cost", "success", "seed", "malformed", "cut", "empty"],
  ["cached_tokens", "cache_prompt_tokens", "cache_hit_rate", "first_token_p50", "token_calls", "exact_calls"],
);
const NAMES = ["env", "stop_reason", "agent", "source", "kind", "outcome", "grade"];
const OUTCOMES = { succeeded: "solved", unsuccessful: "unsolved", incomplete: "unsolved", unknown: "unknown", untold: "scored" };

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
    /** The figures of each environment over all episodes of the run, as the command line prints them. */
    this.figures = [];
    /** The mean success over the environments, each weighing the same; null with fewer than two. */
    this.overall = null;
    /** What is wrong with many answers, and what to do. */
    this.hints = [];
    /** The rows whose conversation the source has; null for all. */
    this.held = null;
    this.clear();
  }

  /** Ask for new rows; true if there are any. */
  async refresh() {
    const batch = await this.source.rows(this.number, this.count, this.generation);
    this.live = batch.live ?? null;
    this.figures = batch.figures ?? [];
    this.overall = batch.overall ?? null;
    this.hints = batch.hints ?? [];
    this.held = batch.held ? new Set(batch.held) : null;
    const anew = batch.generation !== this.generation;
    if (anew) {
      this.generation = batch.generation;
      this.clear();
    }
    if (batch.from === this.count) this.append(batch);
    return anew || batch.count > 0;
  }

  episode(number) {
    return this.source.episode(this.number, number);
  }

  /** The key of an episode in its run. */
  key(row) {
    return `${this.env[row]}\u0000${this.seed[row]}\u0000${this.repetition[row]}`;
  }

  /** The key of the group of an episode: all episodes of one seed. */
  group(row) {
    return `${this.env[row]}\u0000${this.seed[row]}`;
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
    /** Key → the latest row with it, which is the one that counts. */
    this.latest = new Map();
    this.groups = new Map();
  }

  append(batch) {
    for (const name of NUMBERS) for (const value of batch[name]) this[name].push(value);
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
    for (let row = this.count; row < end; row++) this.latest.set(this.key(row), row);
    this.count = end;
    this.countGroups();
  }

  /** The rows that count: of each key the latest. */
  rows() {
    return [...this.latest.values()];
  }

  /** Rows in the order of their seeds, and within a seed of environment and repetition. */
  inOrder(rows) {
    const seeds = this.seed.map(Number);
    const places = new Map([...new Set(this.env)].sort().map((env, place) => [env, place]));
    const env = this.env.map((name) => places.get(name));
    const { repetition } = this;
    return [...rows].sort((a, b) => seeds[a] - seeds[b] || env[a] - env[b] || repetition[a] - repetition[b] || a - b);
  }

  /** Share of solved episodes in the group of a row, or null. */
  groupShare(row) {
    const group = this.groups.get(this.group(row));
    return group && group.known ? group.solved / group.known : null;
  }

  countGroups() {
    this.groups = new Map();
    for (const row of this.latest.values()) {
      const key = this.group(row);
      let group = this.groups.get(key);
      if (!group) this.groups.set(key, (group = { env: this.env[row], seed: this.seed[row], rows: [], solved: 0, known: 0 }));
      group.rows.push(row);
      if (this.success[row] !== null) {
        group.known += 1;
        group.solved += this.success[row];
      }
    }
  }
}
