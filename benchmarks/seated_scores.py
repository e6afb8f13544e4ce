"""Plays the games of three to six players, each seat at random or by the reference policy, and writes their table.

    python benchmarks/seated_scores.py [ID …] [--episodes N]

Game n has the seed n, and the seat of a single player changes from game to game, so the table in the README of
gem-envs-games is the same on any machine. With ids as arguments, only their rows are printed.
"""

from __future__ import annotations

import re
from math import sqrt
from statistics import fmean, stdev
from typing import Any

from score_tables import ScoreTable, line, write_or_print

import gem
from gem.env_spec import EnvSpec
from gem_envs_games.duels.seated_game import SeatedGameEnv
from gem_envs_games.duels.two_players import TwoPlayerEnv

GAMES = 100
TABLE = ScoreTable(
    "packages/gem-envs-games/README.md",
    "seated_scores.py",
    "| game | players | all random | all reference | one reference among random | one random among reference "
    "| steps |\n|---|---|---|---|---|---|---|\n",
)


def ids() -> list[str]:
    """Return the games that are not for two players alone, the levels of each from the easiest on."""
    order = {"easy": 0, None: 1, "hard": 2}
    found = []
    for spec in gem.all_specs("duel"):
        with gem.make(spec) as env:
            if isinstance(env, SeatedGameEnv) and not isinstance(env, TwoPlayerEnv):
                name, _, level = re.fullmatch(r"(.+?-v\d+)(-(\w+))?", spec.id).groups()  # type: ignore[union-attr]
                found.append((name, order.get(level, 3), spec.id))
    return [env_id for *_, env_id in sorted(found)]


def played(env: Any, policy: Any, at_random: set[str], seed: int) -> tuple[dict[str, float], int]:
    """Return what each player earned, and the number of steps."""
    observations, _ = env.reset(seed=seed)
    steps = 0
    while env.agents:
        actions = env.sample_random_action()
        for player in set(actions) - at_random:
            actions[player] = policy.answer(observations[player])
        observations, *_ = env.step(actions)
        steps += 1
    return env.cumulative_rewards, steps


def row(spec: EnvSpec, games: int = GAMES) -> str:
    """Return a line of the table: mean returns of a player, with standard errors over games."""
    env: Any = gem.make(spec)
    policy = gem.make_policy("reference", env)
    players = set(env.possible_agents)
    cells, steps = [str(len(players))], 0.0
    for everyone, at_random in ((True, True), (True, False), (False, False), (False, True)):
        earned, lengths = [], []
        for seed in range(games):
            one = env.possible_agents[seed % len(players)]
            random_players = (
                players if everyone and at_random else set() if everyone else {one} if at_random else players - {one}
            )
            rewards, length = played(env, policy, random_players, seed)
            earned.append(fmean(rewards.values()) if everyone else rewards[one])
            lengths.append(length)
        if everyone and not at_random:
            steps = fmean(lengths)
        cells.append(f"{fmean(earned) + 0.0:.2f} ± {stdev(earned) / sqrt(games):.2f}".replace("-", "−"))
    return line(spec, *cells, f"{steps:.1f}")


if __name__ == "__main__":
    write_or_print(TABLE, ids(), row, __doc__, GAMES)
