"""Plays the bandits and grid worlds with simple agents, and writes the table of scores in their package's README.

    python benchmarks/grid_scores.py [ID …]

The agents are random well-formed moves and the reference policy, once with a world's own turns and once with 20 turns
for every level. Episode n has the seed n, so the table is the same on any machine. BabyAI needs minigrid. With ids as
arguments, only their rows are printed.
"""

from __future__ import annotations

from score_tables import FOREVER, ScoreTable, line, with_error, write_or_print

import gem
from gem.env_spec import EnvSpec
from gem_testing.scores import scores_of

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
    own, same = scores_of(spec, episodes, FOREVER), ["", ""]
    if spec.turns == "multi":
        scores = scores_of(spec.with_kwargs({"max_turns": SAME_TURNS}), episodes, FOREVER)
        same = [with_error(scores[agent]) for agent in ("random", "reference")]
    means = (with_error(own[agent]) for agent in ("random", "reference"))
    return line(spec, *means, f"{own['reference'].mean_turns:.1f}", *same)


def ids() -> list[str]:
    """Return the ids of the table: levels, and what has none."""
    return [
        spec.id
        for spec in (*gem.all_specs("bandit"), *gem.all_specs("grid"))
        if not spec.id.endswith(("-test", "BossLevel")) and "Visual" not in spec.id and spec.id != "grid:BabyAI-v0"
    ]


if __name__ == "__main__":
    write_or_print(TABLE, ids(), row, __doc__, EPISODES)
