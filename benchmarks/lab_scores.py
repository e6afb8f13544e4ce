"""Plays the levels of the laboratory with three simple agents, and writes the table in the package's README.

    python benchmarks/lab_scores.py

Episode n has the seed n, so the scores are the same on any machine. One column gives the reference policy the same few
turns in all levels of an experiment: that is what shows which level is harder. Speed is that of ``gem bench``.
"""

from __future__ import annotations

import sys

from score_tables import FOREVER, ScoreTable

import gem
from gem.env_spec import EnvSpec
from gem_rollout.speed import measure
from gem_testing.scores import scores_of

EPISODES = 200
TURNS = {"lab:Mixtures-v0": 20, "lab:Circuits-v0": 12, "lab:Heat-v0": 8, "lab:Growth-v0": 8}
TABLE = ScoreTable(
    "packages/gem-envs-lab/README.md",
    "lab_scores.py",
    "| variant | turns | silence | random | reference | its turns | random in few turns | reference in few turns | "
    "steps per CPU second | slowest reset |\n|---|---|---|---|---|---|---|---|---|---|\n",
)


def row(base: str, spec: EnvSpec) -> str:
    """Return a line of the table."""
    scores, speed = scores_of(spec, EPISODES, FOREVER), measure(spec, 1.0, 0)
    few = scores_of(spec.with_kwargs({"max_turns": TURNS[base]}), EPISODES, FOREVER)
    with gem.make(spec) as env:
        turns = env.unwrapped.max_turns
    cells = (
        f"`{spec.id}`",
        str(turns),
        *(f"{scores[agent].mean:.3f}" for agent in ("null", "random", "reference")),
        f"{scores['reference'].mean_turns:.1f}",
        *(f"{few[agent].mean:.2f} in {TURNS[base]}" for agent in ("random", "reference")),
        f"{speed.steps_per_cpu_second:,.0f}",
        f"{1000 * speed.slowest_reset_cpu_seconds:.1f} ms",
    )
    return f"| {' | '.join(cells)} |\n"


def main() -> None:
    """Write the table."""
    rows = []
    for base in TURNS:
        for level in ("-easy", "", "-hard"):
            rows.append(row(base, gem.spec(base + level)))
            sys.stdout.write(rows[-1])
            sys.stdout.flush()
    TABLE.write(rows)


if __name__ == "__main__":
    main()
