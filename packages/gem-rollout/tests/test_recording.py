"""The wrapper ``record``: episodes of loops that know nothing of trajectories."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.core import Env, Info
from gem_rollout.replay import replay
from gem_rollout.trajectory import Trajectory, read_trajectories


class Count(Env[str, str]):
    """Three turns; the actions ``raise`` and ``leak`` raise, and ``object`` returns an info that JSON cannot hold."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.turn = 0
        return f"begin {self.rng.random()}", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        if action == "raise":
            raise ValueError("broke")
        if action == "leak":
            raise asyncio.CancelledError("broke")
        self.turn += 1
        return f"turn {self.turn}", 0.5, self.turn == 3, False, {"x": object()} if action == "object" else {}

    def sample_random_action(self) -> str:
        return "go"

    def get_state(self) -> dict[str, Any]:
        return {"turn": self.turn}

    def set_state(self, state: Any) -> None:
        self.turn = state["turn"]


COUNT = gem.env_spec.EnvSpec(id="test:Count-v0", entry_point=Count)


def recorded(path: Path) -> list[Trajectory]:
    return list(read_trajectories(path, strict=True))


def test_episodes_are_in_the_file_as_soon_as_they_end(tmp_path: Path) -> None:
    """Observations are those of the wrappers inside; a replay of the record writes nothing."""
    path = tmp_path / "new" / "runs.jsonl"
    env = gem.make(COUNT, wrappers=["concat_with_action", gem.wrapper("record", path=path, agent="me")])
    for seed in (3, 4):
        seen = [env.reset(seed=seed)[0], *(env.step("go")[0] for _ in range(3))]
    first, second = recorded(path)
    assert (first.seed, first.agent, first.stop_reason) == (3, "me", "terminated")
    assert [*(turn.observation for turn in second.transitions), second.final_observation] == seen
    assert [replay(trajectory).result for trajectory in (first, second)] == ["same", "same"]
    assert len(recorded(path)) == 2


def test_an_episode_that_ends_early_is_marked(tmp_path: Path) -> None:
    """By reset, by close and by set_state; without a turn there is no record."""
    path = tmp_path / "runs.jsonl"
    env = gem.make(COUNT, wrappers=gem.wrapper("record", path=str(path)))
    env.reset(seed=1)
    env.reset(seed=2)
    env.step("go")
    env.reset(seed=3)
    env.step("go")
    env.set_state(env.get_state())
    env.step("go")
    env.reset(seed=4)
    env.step("go")
    env.close()
    assert [(t.seed, len(t), t.stop_reason) for t in recorded(path)] == [
        (2, 1, "abandoned"),
        (3, 1, "abandoned"),
        (4, 1, "abandoned"),
    ]


@pytest.mark.parametrize(("action", "error"), [("raise", ValueError), ("leak", asyncio.CancelledError)])
def test_failures_are_recorded_and_passed_on(tmp_path: Path, action: str, error: type[BaseException]) -> None:
    """An exception reaches the caller; a result that cannot be recorded does not disturb the episode."""
    path = tmp_path / "runs.jsonl"
    env = gem.make(COUNT, wrappers=gem.wrapper("record", path=str(path)))
    env.reset(seed=1)
    with pytest.raises(error, match="broke"):
        env.step(action)
    env.reset(seed=2)
    env.step("object")
    assert env.step("go")[0] == "turn 2"
    raised, invalid = recorded(path)
    assert raised.failure is not None
    assert (raised.failure.kind, raised.failure.message) == ("exception", f"{error.__name__}: broke")
    assert raised.transitions[-1].action == action
    assert invalid.failure is not None
    assert invalid.failure.kind == "invalid_result"


@pytest.mark.parametrize("mode", ["sync", "thread"])
def test_the_environments_of_a_vector_share_a_file(tmp_path: Path, mode: str) -> None:
    """Each writes its own episodes."""
    path = tmp_path / "runs.jsonl"
    with gem.make_vec([COUNT] * 3, wrappers=gem.wrapper("record", path=path), mode=mode) as envs:
        envs.reset(seed=7)
        for _ in range(7):
            envs.step(["go"] * 3)
    assert sorted(len(trajectory) for trajectory in recorded(path)) == [1, 1, 1, 3, 3, 3, 3, 3, 3]
