"""Measures how often models that play the customers of the desks break their script, and in which way.

    python benchmarks/desk_model_users.py
    python benchmarks/desk_model_users.py --url http://localhost:8000/v1 --model SmolLM2-135M-Instruct

The customers are a model, if there is a URL, and the scripted customer behind a model's door. The reference policy
serves those of the first seeds of each desk, level 1, in free text (-v0) and by typed acts (-v1). The shares are of
episodes: an episode ends with its first fault, and is of unknown outcome then.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gem
from gem_envs_desk.acts.env import ActDeskEnv
from gem_envs_desk.acts.reference import ActPolicy
from gem_envs_desk.env import DeskEnv
from gem_envs_desk.reference import DeskPolicy

sys.path.insert(0, str(Path(__file__).parents[1] / "packages" / "gem-envs-desk" / "tests"))
from stand_in_users import HonestActUser, HonestUser, connected  # type: ignore[import-not-found]

NAMES = ("Retail-v0", "Airline-v0", "Telecom-v0", "Retail-v1", "Airline-v1", "Telecom-v1", "Library-v1")
STAND_IN = "scripted:stand-in"


def played(env: DeskEnv, episodes: int, show: Callable[[str], None]) -> tuple[Counter[str], int, float]:
    """Return the kinds of faults, the turns, and the returns of the episodes without one."""
    faults: Counter[str] = Counter()
    turns, earned = 0, 0.0
    for seed in range(episodes):
        observation, info = env.reset(seed=seed)
        policy = ActPolicy(env) if isinstance(env, ActDeskEnv) else DeskPolicy(env)
        policy.reset(observation, info)
        show(f"\n=== {env.domain.name} {seed}\n{observation.rpartition('# The customer')[2].strip()}")
        over = False
        while not over:
            action = policy.act(observation, info)
            observation, reward, terminated, truncated, info = env.step(action)
            show(f"> {action}\n{observation}")
            turns += 1
            over = terminated or truncated
        if kind := info.get("user_fault_kind"):
            faults[kind] += 1
            show(f"!!! {info['user_fault']} ({_last_words(env.memory)})")
        else:
            earned += reward
    return faults, turns, earned


def _last_words(memory: dict[str, Any]) -> str:
    """Return the last message of a user's model."""
    return str(memory.get("user", memory)["messages"][-1:])


def main() -> None:
    """Play, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="the model's server")
    parser.add_argument("--model", default=None, help="its name there")
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--desks", nargs="*", default=NAMES, help=f"of {', '.join(NAMES)}")
    parser.add_argument("--show", action="store_true", help="print the conversations")
    options = parser.parse_args()
    print("| user | desk | episodes | turns | spoiled | return of the others | first faults |")
    print("|---|---|---|---|---|---|---|")
    show = print if options.show else lambda text: None
    for url in (options.url, STAND_IN) if options.url else (STAND_IN,):
        for name in options.desks:
            print(row(url, None if url == STAND_IN else options.model, name, options.episodes, show), flush=True)


def row(url: str, model: str | None, name: str, episodes: int, show: Callable[[str], None]) -> str:
    """Return a line of the table."""
    with gem.make(f"desk:{name}", user=url, user_model=model) as env:
        desk = env.unwrapped
        assert isinstance(desk, DeskEnv)
        if url == STAND_IN:
            connected(desk, HonestActUser(desk) if isinstance(desk, ActDeskEnv) else HonestUser(desk))
        faults, turns, earned = played(desk, episodes, show)
    left = episodes - faults.total()
    kinds = ", ".join(f"{kind} {count}" for kind, count in faults.most_common()) or "–"
    mean = f"{earned / left:.2f}" if left else "–"
    user = "the scripted customer behind a model's door" if url == STAND_IN else model or url
    return f"| {user} | {name} | {episodes} | {turns} | {faults.total()} | {mean} | {kinds} |"


if __name__ == "__main__":
    main()
