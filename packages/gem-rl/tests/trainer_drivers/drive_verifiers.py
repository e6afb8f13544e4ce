"""The task set for prime-rl through verifiers' loader, and an episode with a scripted player."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import verifiers.v1 as vf
from verifiers.v1.utils.loaders import load_taskset, taskset_config_type

import gem

config = taskset_config_type("prime_rl_taskset")(id="prime_rl_taskset", envs=["game:GuessTheNumber-v0-easy"], tasks=3)
taskset = load_taskset(config)
tasks = list(taskset)
assert [task.data.seed for task in tasks] == [0, 1, 2]
assert all("number" in task.data.prompt for task in tasks)
assert len({task.key for task in tasks}) == 3

import prime_rl_taskset  # noqa: E402

assert issubclass(prime_rl_taskset.GemEnv, vf.Env)
env = prime_rl_taskset.GemEnv(prime_rl_taskset.GemEnvConfig(taskset=config))


class Player:
    """Guesses one number after the other."""

    def __init__(self) -> None:
        self.heard: list[str | None] = []
        self.rewards: dict[str, float] = {}
        self.metrics: dict[str, float] = {}

    @asynccontextmanager
    async def interaction(self, task: Any) -> Any:
        yield SimpleNamespace(turn=self._turn, trace=self)

    async def _turn(self, message: str | None = None) -> Any:
        self.heard.append(message)
        return SimpleNamespace(terminated=False, last_reply=f"\\boxed{{{len(self.heard)}}}")

    def record_reward(self, name: str, value: float, weight: float) -> None:
        self.rewards[name] = value * weight

    def record_metric(self, name: str, value: float) -> None:
        self.metrics[name] = value


found = []
for task in tasks:
    player = Player()
    asyncio.run(env.run(task, SimpleNamespace(player=player)))
    assert player.heard[0] is None
    assert all("number" in str(text) for text in player.heard[1:])
    found.append({**player.rewards, **player.metrics})


class Breaks(gem.Env[str, str]):
    """Fails in its first turn."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        return "Go on.", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        raise OSError("the disk is full")


gem.register("test:Breaks-v0", Breaks)
player = Player()
broken = SimpleNamespace(data=SimpleNamespace(env_id="test:Breaks-v0", seed=0))
said = ""
try:
    asyncio.run(env.run(broken, SimpleNamespace(player=player)))
except vf.EnvError as error:
    said = str(error)
assert "has no outcome: OSError: the disk is full" in said
assert player.rewards == {}
print(json.dumps(found))
