"""Plays the tasks in pictures with simple agents, and writes the table in the package's README.

    python benchmarks/visual_scores.py

Episode n has the seed n, so the scores are the same on any machine. The bounded reader is the reference policy that
overlooks 2 % of each picture: its column shows which level is harder. Speed is that of ``gem bench``.
"""

from __future__ import annotations

from score_tables import FOREVER, ScoreTable, line, max_turns, speed_cells, write_or_print

import gem
from gem.env_spec import EnvSpec
from gem_envs_visual.glimpses import GlimpsePolicy
from gem_testing.scores import scores_of

EPISODES = 50
TASKS = ("Charts", "Tables", "Gauges", "Jigsaw", "OddOneOut", "Routes", "Circuits", "Northcott", "Form")
IDS = tuple(f"visual:{task}-v0{level}" for task in TASKS for level in ("-easy", "", "-hard"))
TABLE = ScoreTable(
    "packages/gem-envs-visual/README.md",
    "visual_scores.py",
    "| variant | turns | silence | random | reference | its turns | bounded reader | steps per CPU second | "
    "slowest reset |\n|---|---|---|---|---|---|---|---|---|\n",
)


def bounded_mean(spec: EnvSpec, episodes: int) -> float:
    """Return the mean return of the bounded reader."""
    total = 0.0
    with gem.make(spec) as env:
        policy = GlimpsePolicy(env)
        for seed in range(episodes):
            observation, info = env.reset(seed=seed)
            policy.seed_episode(seed, 0)
            policy.reset(observation, info)
            over = False
            while not over:
                observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
                total, over = total + reward, terminated or truncated
    return total / episodes


def row(spec: EnvSpec, episodes: int = EPISODES) -> str:
    """Return a line of the table."""
    scores = scores_of(spec, episodes, FOREVER)
    return line(
        spec,
        max_turns(spec),
        *(f"{scores[agent].mean:.2f}" for agent in ("null", "random", "reference")),
        f"{scores['reference'].mean_turns:.1f}",
        f"{bounded_mean(spec, episodes):.2f}",
        *speed_cells(spec),
    )


if __name__ == "__main__":
    write_or_print(TABLE, IDS, row, __doc__, EPISODES)
