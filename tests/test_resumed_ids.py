"""Episodes of every environment go on in another process where the first one left them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.env_spec import EnvSpec
from gem.errors import GemError
from gem.policies import Policy
from gem_rollout import EpisodeLimits, RolloutEngine, TurnJournal, plan_episodes

ELSEWHERE = {"terminal", "swe", "mcp"}
"""Namespaces whose environments need a container, or a server of somebody else."""
TURNS = 6
FEW = ["game:GuessTheNumber-v0-easy", "desk:Retail-v0", "web:Form-v0", "kg:Graph-v0", "db:SQL-v0"]


def specs() -> list[EnvSpec]:
    return [spec for spec in gem.all_specs() if spec.namespace not in ELSEWHERE]


class Random(Policy[Any, Any]):
    """Random actions of an episode, a recorded one counting as drawn; says nothing more after so many."""

    def __init__(self, env: Any, most: int | None, silent: asyncio.Event) -> None:
        self.policy, self.most, self.silent = gem.make_policy("random", env), most, silent

    def seed_episode(self, seed: int, repetition: int) -> None:
        seeds = getattr(self.policy, "seed_episode", None)
        if seeds is not None:
            seeds(seed, repetition)

    def reset(self, observation: Any, info: Any) -> None:
        self.turn = 0
        self.policy.reset(observation, info)

    async def act(self, observation: Any, info: Any) -> Any:
        if self.turn == self.most:
            self.silent.set()
            await asyncio.Event().wait()
        self.turn += 1
        return self.policy.act(observation, info)

    def recall(self, observation: Any, info: Any, act: Any) -> None:
        self.turn += 1
        self.policy.act(observation, info)


def played(env_id: str, journal: TurnJournal | None, most: int | None = None) -> gem.Trajectory | None:
    """Play an episode to its end; with ``most``, so many turns of it, and return None if it had more."""

    async def run() -> gem.Trajectory | None:
        silent, plan = asyncio.Event(), plan_episodes([env_id], 1, seed=3)
        limits = EpisodeLimits(max_turns=TURNS)
        async with RolloutEngine(
            plan, lambda env: Random(env, most, silent), limits=limits, journal=journal, strict=True
        ) as engine:
            episode, end = asyncio.ensure_future(anext(engine)), asyncio.ensure_future(silent.wait())
            await asyncio.wait([episode, end], return_when=asyncio.FIRST_COMPLETED)
            episode.cancel()
            end.cancel()
            await asyncio.gather(episode, end, return_exceptions=True)
            return None if episode.cancelled() else episode.result()

    return asyncio.run(run())


def without_times(trajectory: gem.Trajectory) -> dict[str, Any]:
    record = trajectory.to_dict()
    for part in (record, *record["transitions"]):
        for name in ("started_at", "seconds", "act_seconds", "step_seconds", "metadata"):
            part.pop(name, None)
    return record


def check(env_id: str, folder: Path) -> None:
    try:
        whole = played(env_id, None)
    except GemError as error:
        pytest.skip(f"{env_id} cannot be made here: {error}")
    assert whole is not None
    if len(whole) < 2:
        pytest.skip(f"{env_id} ends with its first turn")
    half = len(whole) // 2
    path = folder / "unfinished.jsonl"
    with TurnJournal(path) as journal:
        assert played(env_id, journal, half) is None
    with TurnJournal(path) as journal:
        assert list(journal.unfinished.values()) == [half]
        again = played(env_id, journal)
    assert again is not None
    assert again.metadata.get("begun_again") is None
    assert again.metadata["recalled_turns"] == half
    assert without_times(again) == without_times(whole)


@pytest.mark.parametrize("env_id", FEW)
def test_episodes_of_some_environments_go_on(env_id: str, tmp_path: Path) -> None:
    """A few in the main tier."""
    check(env_id, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("spec", specs(), ids=lambda spec: spec.id)
def test_episodes_of_every_environment_go_on(spec: EnvSpec, tmp_path: Path) -> None:
    """Half of an episode is played in one engine and the rest in another; the record is that of one engine."""
    if spec.namespace == "duel":
        pytest.skip("environments with several agents begin again")
    check(spec.id, tmp_path)


@pytest.mark.nightly
@pytest.mark.containers
@pytest.mark.parametrize("env_id", [spec.id for spec in gem.all_specs("terminal") if spec.id != "terminal:Folder-v0"])
def test_episodes_in_containers_go_on(env_id: str, tmp_path: Path) -> None:
    """The commands are run again in a fresh container, and say what they had said."""
    check(env_id, tmp_path)
