"""Plays the levels of the generated households with three simple agents, and writes the table in the package's README.

    python benchmarks/house_scores.py

Episode n has the seed n, so the scores are the same on any machine. The last columns give the reference policy the same
few turns in all levels of an environment: that is what shows which level is harder. Speed is that of ``gem bench``.
"""

from __future__ import annotations

from score_tables import FOREVER, ScoreTable, base_of, line, max_turns, speed_cells, write_or_print

from gem.env_spec import EnvSpec
from gem_testing.scores import AgentScore, scores_of

EPISODES = 200
TURNS = {"house:Household-v0": (8, 12), "house:Composite-v0": (20, 35)}
IDS = tuple(f"{base}{level}" for base in TURNS for level in ("-easy", "", "-hard"))
TABLE = ScoreTable(
    "packages/gem-envs-house/README.md",
    "house_scores.py",
    "| variant | turns | silence | random | random in 1,000 turns | reference | its turns | reference in few turns | "
    "steps per CPU second | slowest reset |\n|---|---|---|---|---|---|---|---|---|---|\n",
)


def row(spec: EnvSpec, episodes: int = EPISODES) -> str:
    """Return a line of the table."""

    def in_turns(turns: int) -> dict[str, AgentScore]:
        return scores_of(spec.with_kwargs({"max_turns": turns}), episodes, FOREVER)

    scores, long = scores_of(spec, episodes, FOREVER), in_turns(1000)["random"]
    return line(
        spec,
        max_turns(spec),
        *(f"{scores[agent].mean:.3f}" for agent in ("null", "random")),
        f"{long.mean:.3f} ± {long.standard_error:.3f}",
        f"{scores['reference'].mean:.3f}",
        f"{scores['reference'].mean_turns:.1f}",
        ", ".join(f"{in_turns(turns)['reference'].mean:.2f} in {turns}" for turns in TURNS[base_of(spec)]),
        *speed_cells(spec),
    )


if __name__ == "__main__":
    write_or_print(TABLE, IDS, row, __doc__, EPISODES)
