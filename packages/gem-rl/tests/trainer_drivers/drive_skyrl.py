"""Whole episodes of the file for SkyRL through skyrl_gym.make, as SkyRL's generator plays them."""

from __future__ import annotations

import json
from typing import Any

import skyrl_env
import skyrl_gym

import gem

skyrl_env.register()
skyrl_env.register()
found = []
for row in skyrl_env.rows("game:GuessTheNumber-v0-easy", 3):
    # skyrl/train/generators/skyrl_gym_generator.py: what is no column of its own is an extra.
    extras = {key: value for key, value in row.items() if key not in ("prompt", "env_class")}
    env = skyrl_gym.make(row["env_class"], env_config={}, extras={**extras, "max_turns": 12})
    system = {"role": "system", "content": "Be brief."}
    messages, _ = env.init([system, *row["prompt"]])
    assert messages[0] == system
    assert messages[1]["content"] == row["prompt"][0]["content"]
    rewards, done, guess = [], False, 0
    while not done:
        guess += 1
        action = f"\\boxed{{{guess}}}"
        step = env.step(action)
        messages += [{"role": "assistant", "content": action}, *step["observations"]]
        rewards.append(step["reward"])
        done = step["done"]
    assert [message["role"] for message in messages[1::2]] == ["user"] * len(messages[1::2])
    figures = env.get_metrics()
    assert figures["turns"] == guess
    found.append({"rewards": rewards, **figures})
    env.close()
assert skyrl_env.GemTextEnv.aggregate_metrics(found)


class Breaks(gem.Env[str, str]):
    """Fails in its first turn."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        return "Go on.", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        raise OSError("the disk is full")


gem.register("test:Breaks-v0", Breaks)
env = skyrl_gym.make("gem", env_config={}, extras={"env_id": "test:Breaks-v0", "seed": 0, "max_turns": 12})
env.init([])
said = ""
try:
    env.step("on")
except RuntimeError as error:
    said = str(error)
assert "has no outcome: OSError: the disk is full" in said
print(json.dumps(found))
