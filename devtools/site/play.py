"""Plays the environments of a package for their pages: scores of simple agents, and an episode of the reference policy.

    python -m devtools.site.play FILE ID [ID ...]

FILE receives a line of JSON for each id: its scores, its speed, and for the first variant of an environment that can be
played an episode. It runs in a process of its own, because an environment may do anything.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import gem
from gem.ids import parse_id
from gem.policies import make_policy
from gem.speed import measure
from gem_hub.first_observations import as_text
from gem_testing.scores import scores_of

__all__ = ["episode_of", "main", "played"]

EPISODES = 8
SECONDS = 0.5
"""Wall-clock seconds for each agent and for the speed of each variant."""
MOST_TURNS = 30
"""Turns of an episode that a page shows."""


def main(target: str, *ids: str) -> None:
    """Write a line for each environment that can be played."""
    shown: set[str] = set()
    with Path(target).open("w", encoding="utf-8") as file:
        for env_id in ids:
            parsed = parse_id(env_id)
            base = env_id.removesuffix(f"-{parsed.variant}") if parsed.variant else env_id
            line = played(env_id, with_episode=base not in shown)
            if line.get("episode"):
                shown.add(base)
            file.write(json.dumps(line) + "\n")
            file.flush()


def played(env_id: str, *, with_episode: bool) -> dict[str, Any]:
    """Return the scores, the speed and the episode of an environment; an error where it cannot be played here."""
    line: dict[str, Any] = {"id": env_id}
    try:
        spec = gem.spec(env_id)
        line["scores"] = {agent: asdict(score) for agent, score in scores_of(spec, EPISODES, SECONDS).items()}
        if any(score["mean"] is not None for score in line["scores"].values()):
            line["steps_per_cpu_second"] = measure(spec, SECONDS, 0).steps_per_cpu_second
            if with_episode and spec.reference_policy is not None:
                line["episode"] = episode_of(env_id)
    except (Exception, SystemExit) as error:  # a data set that is not here, an engine that does not run
        line["error"] = f"{type(error).__name__}: {error}"
    return line


def episode_of(env_id: str) -> list[dict[str, Any]]:
    """Return the turns of the reference policy with seed 0: observation, action, reward; then the last observation."""
    turns: list[dict[str, Any]] = []
    with gem.make(env_id) as env:
        policy = make_policy("reference", env)
        observation, info = env.reset(seed=0)
        policy.reset(observation, info)
        for _ in range(MOST_TURNS):
            action = policy.act(observation, info)
            seen = as_text(observation)
            observation, reward, terminated, truncated, info = env.step(action)
            shown = action if isinstance(action, str) else json.dumps(action, ensure_ascii=False, indent=1)
            turns.append({"observation": seen, "action": shown, "reward": float(reward)})
            if terminated or truncated:
                break
        turns.append({"observation": as_text(observation), "action": "", "reward": None})
    return turns


if __name__ == "__main__":
    main(*sys.argv[1:])
