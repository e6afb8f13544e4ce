"""Plays every variant of every game with three simple agents, and writes the table of difficulty in docs/games.md.

    python benchmarks/game_scores.py
    python benchmarks/game_scores.py --episodes 1000 game:Game2048-v1-extreme-hard

With ids, prints only their rows. The agents are those of a conformance record: one that sends the empty text, one with
random well-formed moves, and the reference policy. Episode n has the seed n, so the table is the same on any machine.
"""

from __future__ import annotations

from score_tables import FOREVER, ScoreTable, line, with_error, write_or_print

import gem
from gem.env_spec import EnvSpec
from gem_testing.scores import AgentScore, scores_of

EPISODES = 200
TABLE = ScoreTable(
    "docs/games.md",
    "game_scores.py",
    "| variant | silence | random moves | won | reference policy | won | its turns |\n|---|---|---|---|---|---|---|\n",
)


def row(spec: EnvSpec, episodes: int = EPISODES) -> str:
    """Return a line of the table: mean returns with their standard errors, shares of games won, mean turns."""
    scores = scores_of(spec, episodes, FOREVER)
    silent, chance, reference = (scores[agent] for agent in ("null", "random", "reference"))
    return line(spec, with_error(silent), *_results(chance), *_results(reference), f"{reference.mean_turns:.1f}")


def _results(score: AgentScore) -> tuple[str, str]:
    return with_error(score), f"{100 * (score.success_rate or 0):.3g} %"


if __name__ == "__main__":
    write_or_print(TABLE, (spec.id for spec in gem.all_specs("game")), row, __doc__, EPISODES)
