"""Plays the games for two at several sizes, each side at random or by the reference policy, and writes their table.

    python benchmarks/duel_scores.py [ID …]

Game n has the seed n, so the table in the README of gem-envs-games is the same on any machine. With ids as arguments,
only their rows are printed.
"""

from __future__ import annotations

import sys
from itertools import product
from math import sqrt
from typing import Any

from score_tables import ScoreTable

import gem
from gem_envs_games.duels.two_players import PLAYERS

GAMES = 200
SIZES: dict[str, list[dict[str, int]]] = {
    "duel:Bargain-v0": [{"max_turns": 4}, {}, {"max_turns": 20}],
    "duel:ConnectFour-v0": [{"width": 5, "height": 4}, {}, {"width": 9, "height": 7}],
    "duel:KuhnPoker-v0": [{"hands": 1}, {}, {"hands": 24}],
    "duel:Nim-v0": [{"heaps": 2, "most": 4}, {}, {"heaps": 5, "most": 15}],
}
"""Arguments from the smallest game to the largest; the empty ones are the id's own."""
PAIRS = tuple(product(("random", "reference"), repeat=2))
TABLE = ScoreTable(
    "packages/gem-envs-games/README.md",
    "duel_scores.py",
    "| game | random, random | random, reference | reference, random | reference, reference "
    "| first ahead, random | first ahead, reference | moves |\n|---|---|---|---|---|---|---|---|\n",
)


def played(env: Any, policy: Any, sides: tuple[str, str], seed: int) -> tuple[float, float, int]:
    """Return the returns of both players and the number of moves."""
    observations, _ = env.reset(seed=seed)
    moves = 0
    while env.agents:
        player = env.to_move
        if sides[PLAYERS.index(player)] == "random":
            actions = env.sample_random_action()
        else:
            actions = {player: policy.answer(observations[player])}
        observations, *_ = env.step(actions)
        moves += 1
    first, second = (env.cumulative_rewards[player] for player in PLAYERS)
    return first, second, moves


def row(env_id: str, size: dict[str, int], games: int = GAMES) -> str:
    """Return a line of the table."""
    env: Any = gem.make(env_id, **size)
    policy = gem.make_policy("reference", env)
    results = {sides: [played(env, policy, sides, seed) for seed in range(games)] for sides in PAIRS}
    arguments = ", ".join(f"{name}={value}" for name, value in size.items())
    cells = [f"`{env_id}`{f', {arguments}' if size else ''}"]
    for found in results.values():
        first, second = (round(sum(one[place] for one in found) / games, 2) + 0.0 for place in (0, 1))
        cells.append(f"{first:.2f} : {second:.2f}".replace("-", "−"))
    for side in ("random", "reference"):
        ahead = [(first > second) + (first == second) / 2 for first, second, _ in results[side, side]]
        share = sum(ahead) / games
        cells.append(f"{share:.2f} ± {sqrt(share * (1 - share) / games):.2f}")
    cells.append(f"{sum(moves for *_, moves in results['reference', 'reference']) / games:.1f}")
    return f"| {' | '.join(cells)} |\n"


def main() -> None:
    """Write the table, or print rows."""
    ids = sys.argv[1:]
    rows = []
    for env_id in ids or SIZES:
        for size in SIZES[env_id]:
            rows.append(row(env_id, size))
            sys.stdout.write(rows[-1])
    if not ids:
        TABLE.write(rows)


if __name__ == "__main__":
    main()
