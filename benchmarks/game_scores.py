"""Plays every variant of every game with three simple agents, and writes the table of difficulty in docs/games.md.

    python benchmarks/game_scores.py
    python benchmarks/game_scores.py --episodes 1000 game:Game2048-v1-extreme-hard

With ids, prints only their rows. The agents are those of a conformance record: one that sends the empty text, one with
random well-formed moves, and the reference policy. Episode n has the seed n, so the table is the same on any machine.
"""

from __future__ import annotations

import argparse
import sys

from score_tables import FOREVER, ScoreTable

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
    cells = (f"`{spec.id}`", _mean(silent), *_results(chance), *_results(reference), f"{reference.mean_turns:.1f}")
    return f"| {' | '.join(cells)} |\n"


def _results(score: AgentScore) -> tuple[str, str]:
    return _mean(score), f"{100 * (score.success_rate or 0):.3g} %"


def _mean(score: AgentScore) -> str:
    if score.mean is None:
        raise SystemExit(f"no score: {score.error}")
    spread = f" ± {score.standard_error:.3f}" if score.standard_error >= 0.0005 else ""
    return f"{score.mean + 0.0:.3f}{spread}".replace("-", "−")


def main() -> None:
    """Write the table, or print some rows of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*")
    parser.add_argument("--episodes", type=int, default=EPISODES)
    options = parser.parse_args()
    if options.ids:
        sys.stdout.writelines(row(gem.spec(env_id), options.episodes) for env_id in options.ids)
        return
    rows = []
    for spec in gem.all_specs("game"):
        rows.append(row(spec, options.episodes))
        sys.stdout.write(rows[-1])
    TABLE.write(rows)


if __name__ == "__main__":
    main()
