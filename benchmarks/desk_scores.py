"""Plays desks, databases and folders with simple agents, and writes the tables in the package's README.

    python benchmarks/desk_scores.py
    python benchmarks/desk_scores.py --episodes 300 desk:Retail-v0-level2
    python benchmarks/desk_scores.py --speed

With ids, prints only their rows. Episode n has the seed n, and agents draw only from seeded generators, so the table of
scores is the same on any machine; PostgreSQL must be installed. ``--speed`` prints a table for ``results.py``, which is
not the same anywhere: milliseconds of CPU of a reset with a task never seen, its world or workspace included, and of a
call of a tool.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

from score_tables import ScoreTable, mean_and_turns

import gem
from gem_envs_desk.domain import carried_out
from gem_envs_desk.env import DeskEnv
from gem_envs_desk.mcp.tool_env import WorkspaceEnv

EPISODES = 50
_README = "packages/gem-envs-desk/README.md"
NAMES = ("Retail-v1", "Airline-v1", "Telecom-v1", "Library-v1", "Retail-v0", "Airline-v0", "Telecom-v0")
DESKS = tuple(
    f"desk:{name}{level}" for level in ("", "-level3") for name in (*NAMES, "Mailbox-v0", "Calendar-v0", "Tickets-v0")
)
ATTACKED = tuple(f"desk:{name}-v1-attacked" for name in ("Retail", "Airline", "Telecom", "Library"))
OFFLINE = (
    *(f"mcp:SQLite-v0{kind}" for kind in ("", "-reading", "-rows", "-schema")),
    *(f"mcp:Files-v0{kind}" for kind in ("", "-reading", "-changing")),
)
POSTGRES = tuple(f"mcp:Postgres-v0{kind}" for kind in ("", "-reading", "-rows", "-schema", "-rules", "-security"))
IDS = (*DESKS, *ATTACKED, *OFFLINE, *POSTGRES)
TABLE = ScoreTable(
    _README,
    "desk_scores.py",
    "| id | silence | random | obedient | reference | its turns |\n|---|---|---|---|---|---|\n",
)
SPEED_IDS = (*DESKS, *OFFLINE)
"""The server of PostgreSQL is another process, whose time ``postgres_episodes.py`` measures."""


def row(env_id: str, episodes: int = EPISODES) -> str:
    """Return a line of the table of scores."""

    def played(policy: str) -> tuple[float, float]:
        with gem.make(env_id) as env:
            return mean_and_turns(env, gem.make_policy(policy, env), episodes)

    obedient = "–"
    if env_id.startswith("desk:"):
        module = "acts.reference:ObedientActPolicy" if "-v1" in env_id else "reference:ObedientPolicy"
        obedient = f"{played(f'gem_envs_desk.{module}')[0]:.2f}"
    reference, turns = played("reference")
    cells = [
        *(f"{played(policy)[0]:.2f}" for policy in ("null", "random")),
        obedient,
        f"{reference:.2f}",
        f"{turns:.1f}",
    ]
    return f"| `{env_id}` | {' | '.join(cells)} |\n"


def speed_row(env_id: str, episodes: int = EPISODES) -> str:
    """Return a line of the table of speeds."""
    with gem.make(env_id) as env:
        inner = env.unwrapped
        spent, calls, reset = 0.0, 0, 0.0
        for seed in range(10**6, 10**6 + episodes):
            start = time.process_time()
            observation, info = env.reset(seed=seed)
            _ = inner.world if isinstance(inner, DeskEnv) else inner.workspace if isinstance(inner, WorkspaceEnv) else 0
            reset += time.process_time() - start
            for call in _calls(env, observation, info):
                start = time.process_time()
                call()
                spent += time.process_time() - start
                calls += 1
    return f"| `{env_id}` | {reset / episodes * 1000:.1f} | {spent / calls * 1000:.2f} |\n"


def _calls(env: gem.Env[Any, Any], observation: Any, info: dict[str, Any]) -> list[Callable[[], object]]:
    """Return the calls of tools that solve the episode; a desk's without the conversation around them."""
    inner = env.unwrapped
    if isinstance(inner, DeskEnv):
        world = inner.world
        return [lambda call=call: carried_out(world, call) for call in inner.current.gold]  # type: ignore[misc]
    policy = gem.make_policy("reference", env)
    policy.reset(observation, info)
    actions = []
    while "<tool_call>" in (action := policy.act(observation, info)):
        actions.append(action)
    return [lambda action=action: env.step(action) for action in actions]  # type: ignore[misc]


def main() -> None:
    """Write a table, or print some rows of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*")
    parser.add_argument("--episodes", type=int, default=EPISODES)
    parser.add_argument("--speed", action="store_true")
    options = parser.parse_args()
    ids, make = (SPEED_IDS, speed_row) if options.speed else (IDS, row)
    if options.speed:
        sys.stdout.write("| id | reset, ms | call, ms |\n|---|---|---|\n")
    rows = []
    for env_id in options.ids or ids:
        rows.append(make(env_id, options.episodes))
        sys.stdout.write(rows[-1])
        sys.stdout.flush()
    if not options.ids and not options.speed:
        TABLE.write(rows)


if __name__ == "__main__":
    main()
