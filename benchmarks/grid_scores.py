"""Plays the bandits and grid worlds with simple agents, and writes the table of scores in their package's README.

    python benchmarks/grid_scores.py [ID …]

The agents are random well-formed moves and the reference policy, once with a world's own turns and once with 20 turns
for every level. Episode n has the seed n, so the table is the same on any machine. BabyAI needs minigrid. With ids as
arguments, only their rows are printed.
"""

from __future__ import annotations

import sys

from score_tables import FOREVER, ScoreTable

import gem
from gem.env_spec import EnvSpec
from gem_testing.scores import AgentScore, scores_of

EPISODES = 200
SAME_TURNS = 20
TABLE = ScoreTable(
    "packages/gem-envs-grid/README.md",
    "grid_scores.py",
    "| variant | random moves | reference policy | its turns | random, 20 turns | reference, 20 turns |\n"
    "|---|---|---|---|---|---|\n",
)


def row(spec: EnvSpec, episodes: int = EPISODES) -> str:
    """Return a line of the table: mean returns with their standard errors."""
    own = scores_of(spec, episodes, FOREVER)
    cells = [f"`{spec.id}`", mean(own["random"]), mean(own["reference"]), f"{own['reference'].mean_turns:.1f}"]
    if spec.turns == "multi":
        same = scores_of(spec.with_kwargs({"max_turns": SAME_TURNS}), episodes, FOREVER)
        cells += [mean(same["random"]), mean(same["reference"])]
    else:
        cells += ["", ""]
    return f"| {' | '.join(cells)} |\n"


def mean(score: AgentScore) -> str:
    """Return a mean with its standard error, where there is one."""
    if score.mean is None:
        raise SystemExit(f"no score: {score.error}")
    spread = f" ± {score.standard_error:.3f}" if score.standard_error >= 0.0005 else ""
    return f"{score.mean + 0.0:.3f}{spread}"


def variants() -> list[EnvSpec]:
    """Return the variants of the table: levels, and what has none."""
    specs = [*gem.all_specs("bandit"), *gem.all_specs("grid")]
    left_out = ("-test", "BossLevel")
    return [
        spec
        for spec in specs
        if not spec.id.endswith(left_out) and "Visual" not in spec.id and spec.id != "grid:BabyAI-v0"
    ]


def main() -> None:
    """Write the table, or print rows."""
    if ids := sys.argv[1:]:
        for env_id in ids:
            sys.stdout.write(row(gem.spec(env_id)))
        return
    rows = []
    for spec in variants():
        rows.append(row(spec))
        sys.stdout.write(rows[-1])
    TABLE.write(rows)


if __name__ == "__main__":
    main()
