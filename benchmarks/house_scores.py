"""Plays the levels of the generated households with three simple agents, and writes the table in the package's README.

    python benchmarks/house_scores.py

Episode n has the seed n, so the scores are the same on any machine. The last columns give the reference policy the same
few turns in all levels of an environment: that is what shows which level is harder. Speed is that of ``gem bench``.
"""

from __future__ import annotations

import sys

from score_tables import FOREVER, ScoreTable

import gem
from gem.env_spec import EnvSpec
from gem_rollout.speed import measure
from gem_testing.scores import scores_of

EPISODES = 200
TURNS = {"house:Household-v0": (8, 12), "house:Composite-v0": (20, 35)}
LONG = {"house:Household-v0": 1000, "house:Composite-v0": 1000}
TABLE = ScoreTable(
    "packages/gem-envs-house/README.md",
    "house_scores.py",
    "| variant | turns | silence | random | random in 1,000 turns | reference | its turns | reference in few turns | "
    "steps per CPU second | slowest reset |\n|---|---|---|---|---|---|---|---|---|---|\n",
)


def row(base: str, spec: EnvSpec) -> str:
    """Return a line of the table."""
    scores, speed = scores_of(spec, EPISODES, FOREVER), measure(spec, 1.0, 0)
    few = ", ".join(
        f"{scores_of(spec.with_kwargs({'max_turns': turns}), EPISODES, FOREVER)['reference'].mean:.2f} in {turns}"
        for turns in TURNS[base]
    )
    long = scores_of(spec.with_kwargs({"max_turns": LONG[base]}), EPISODES, FOREVER)["random"]
    with gem.make(spec) as env:
        turns = env.unwrapped.max_turns
    cells = (
        f"`{spec.id}`",
        str(turns),
        *(f"{scores[agent].mean:.3f}" for agent in ("null", "random")),
        f"{long.mean:.3f} ± {long.standard_error:.3f}",
        f"{scores['reference'].mean:.3f}",
        f"{scores['reference'].mean_turns:.1f}",
        few,
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
