"""A trainer that is killed: plays episodes into a folder while its weights change, and dies after so many turns."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from pathlib import Path
from typing import Any

from gem.core import Env, Info
from gem.env_spec import EnvSpec
from gem.policies import Act, Policy
from gem_rollout import EpisodeRequest, RolloutEngine, TurnJournal
from gem_rollout.trajectory import EpisodeKey

MODES = ("wait", "drop", "keep")
TOKENS = 4


def length_of(seed: int) -> int:
    """Return the turns of an episode: most are short and some are long."""
    return min(20, 1 + int(random.Random(seed).expovariate(0.3)))


class Road(Env[str, str]):
    """Its length follows from the seed, and what it says from the actions."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.left, self.said = length_of(seed or 0), str(seed)
        return self.said, {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        self.left -= 1
        self.said = f"{hash_of(self.said + action)}"
        return self.said, 1.0, self.left == 0, False, {}


ROAD = EnvSpec(id="test:Road-v0", entry_point=Road)


def hash_of(text: str) -> int:
    """Return a number that is the same in every process."""
    return random.Random(text).randrange(10**9)


class Sampler(Policy[Any, Any]):
    """Samples tokens that name the version of the weights that they came from."""

    version = 0
    turns_left = -1

    def seed_episode(self, seed: int, repetition: int) -> None:
        self.chance = random.Random()

    async def act(self, observation: str, info: Info) -> Act:
        Sampler.turns_left -= 1
        if Sampler.turns_left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        ids: list[int] = []
        for position in range(TOKENS):
            for _ in range(self.chance.choice((0, 0, 1, 3))):
                await asyncio.sleep(0)
            ids.append(Sampler.version * TOKENS + position)
        versions = [token // TOKENS for token in ids]
        spans = [(version, versions.count(version)) for version in sorted(set(versions))]
        return Act(
            str(hash_of(observation) % 7), token_ids=ids, version=versions[0],
            version_spans=spans if len(spans) > 1 else None,
        )  # fmt: skip

    def recall(self, observation: str, info: Info, act: Act) -> None:
        """Nothing: it goes by the observation alone."""


async def train(folder: Path, episodes: int, versions: int, stop_after: int | None) -> bool:
    """Play what is missing; return whether it is all there.

    Args:
        folder: holds the episodes so far, those that were being played, and the version of the weights.
        episodes: of the whole run.
        versions: of the whole run; the weights change after equal shares of the episodes.
        stop_after: leave after so many finished episodes, as after a warning of preemption.
    """
    kept, weights = folder / "episodes.jsonl", folder / "version"
    lines = kept.read_bytes() if kept.exists() else b""
    os.truncate(kept, lines.rfind(b"\n") + 1) if lines else kept.touch()
    done = {tuple(json.loads(line)["key"]) for line in kept.read_bytes().splitlines()}
    Sampler.version = int(weights.read_text()) if weights.exists() else 0
    plan = [EpisodeRequest(ROAD, EpisodeKey(ROAD.id, seed, 0)) for seed in range(episodes)]
    with TurnJournal(folder / "unfinished.jsonl") as journal, kept.open("ab", buffering=0) as file:
        for key in journal.unfinished.keys() & done:
            journal.settle(key)
        keys = {EpisodeKey(*key) for key in done}
        options: dict[str, Any] = {"version": Sampler.version, "max_staleness": 1, "stale": "mask"}
        async with RolloutEngine(
            plan, lambda env: Sampler(), concurrency=64, journal=journal, done=keys, **options
        ) as engine:
            count, taken = len(done), 0
            async for trajectory in engine:
                turns = [
                    [turn.action, turn.observation, turn.version, turn.version_spans, turn.token_ids]
                    for turn in trajectory.transitions
                ]
                record = {"key": trajectory.key, "stop": trajectory.stop_reason, "turns": turns}
                file.write(json.dumps(record).encode() + b"\n")
                journal.settle(trajectory.key)
                count, taken = count + 1, taken + 1
                if taken == stop_after:
                    engine.stop()
                    return False
                if count >= (Sampler.version + 1) * episodes / versions and Sampler.version + 1 < versions:
                    async with engine.updating(Sampler.version + 1, calls=random.choice(MODES)):  # type: ignore[arg-type]
                        weights.write_text(str(Sampler.version + 1))  # a checkpoint, before anybody samples from it
                        Sampler.version += 1
    return True


if __name__ == "__main__":
    Sampler.turns_left = int(sys.argv[4])
    whole = asyncio.run(train(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[5]) or None))
    sys.exit(0 if whole else 75)
