"""Plays the levels of the laboratory with three simple agents, and writes the table in the package's README.

    python benchmarks/lab_scores.py

Episode n has the seed n, so the scores are the same on any machine. One column gives the reference policy the same few
turns in all levels of an experiment: that is what shows which level is harder. Speed is that of ``gem bench``.
"""

from __future__ import annotations

from score_tables import FOREVER, ScoreTable, base_of, line, max_turns, speed_cells, write_or_print

from gem.env_spec import EnvSpec
from gem_testing.scores import scores_of

EPISODES = 200
TURNS = {"lab:Mixtures-v0": 20, "lab:Circuits-v0": 12, "lab:Heat-v0": 8, "lab:Growth-v0": 8}
IDS = tuple(f"{base}{level}" for base in TURNS for level in ("-easy", "", "-hard"))
TABLE = ScoreTable(
    "packages/gem-envs-lab/README.md",
    "lab_scores.py",
    "| variant | turns | silence | random | reference | its turns | random in few turns | reference in few turns | "
    "steps per CPU second | slowest reset |\n|---|---|---|---|---|---|---|---|---|---|\n",
)


def row(spec: EnvSpec, episodes: int = EPISODES) -> str:
    """Return a line of the table."""
    scores, turns = scores_of(spec, episodes, FOREVER), TURNS[base_of(spec)]
    few = scores_of(spec.with_kwargs({"max_turns": turns}), episodes, FOREVER)
    return line(
        spec,
        max_turns(spec),
        *(f"{scores[agent].mean:.3f}" for agent in ("null", "random", "reference")),
        f"{scores['reference'].mean_turns:.1f}",
        *(f"{few[agent].mean:.2f} in {turns}" for agent in ("random", "reference")),
        *speed_cells(spec),
    )


if __name__ == "__main__":
    write_or_print(TABLE, IDS, row, __doc__, EPISODES)
