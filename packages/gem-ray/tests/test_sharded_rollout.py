"""Rollouts whose episodes are spread over the nodes of a real cluster."""

from __future__ import annotations

import os
import signal
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError, EntryPointError
from gem_ray import rollout
from gem_rollout import rollout as on_one_machine
from gem_rollout.trajectory import Failure, Trajectory, TrajectoryWriter, read_trajectories

pytestmark = [
    pytest.mark.slow(reason="a Ray cluster takes seconds to start, and an actor one"),
    pytest.mark.xdist_group("ray"),
]

IDS = ["game:GuessTheNumber-v0-easy", "game:Wordle-v0-easy"]


def by_key(episodes: list[Trajectory]) -> dict[Any, Any]:
    """Return the records by key, without times; a key that comes twice is an error."""
    records = {}
    for episode in episodes:
        record = episode.to_dict(whole=True)
        for name in ("started_at", "seconds"):
            record.pop(name, None)
        for turn in record["transitions"]:
            for name in ("act_seconds", "step_seconds"):
                turn.pop(name, None)
        assert episode.key not in records
        records[episode.key] = record
    return records


@pytest.mark.parametrize("cpus", [3, pytest.param(1, marks=pytest.mark.nightly)])
def test_episodes_are_those_of_one_machine_and_a_file_resumes(cluster: str, tmp_path: Path, cpus: int) -> None:
    """An interrupted file of one machine is completed by a cluster: every key is there once, with the same record.

    The cluster has four processors. Of two shards that need three each, the one that has room plays all.
    """
    out = tmp_path / "a run ä" / "episodes.jsonl"
    alone = list(on_one_machine(IDS, lambda env: gem.make_policy("random", env), episodes=24, group=4, agent="random"))
    failed = replace(alone[0], failure=Failure("environment", "crash", "as told", 0))  # it is played again
    with TrajectoryWriter(out) as writer:
        for episode in [failed, *alone[1:20]]:
            writer.write(episode)
    out.write_bytes(out.read_bytes()[:-30])  # cut off in the middle of a line, as by kill -9
    options = {"num_cpus": cpus}
    with rollout(IDS, "random", episodes=24, group=4, num_envs=4, shards=2, out=out, options=options) as played:
        assert len(list(played)) == 48 - 18
        assert played.incarnations == (1, 1)
    first, *others = read_trajectories(out)
    assert first.failure is not None
    assert by_key(others) == by_key(alone)
    with rollout(IDS, "random", episodes=24, group=4, out=out) as nothing:
        assert list(nothing) == []
        assert nothing.incarnations == (0,)


@pytest.mark.nightly
def test_one_engine_plays_environments_of_the_cluster(cluster: str) -> None:
    """``mode="ray"`` in the engine: policies here, environments there, the same episodes."""

    def play(mode: str) -> dict[Any, Any]:
        return by_key(
            list(on_one_machine(IDS, lambda env: gem.make_policy("random", env), episodes=8, num_envs=8, mode=mode))
        )

    assert play("ray") == play("thread")


class Deadly(gem.Env[str, str]):
    """Ends after ten turns; kills its process in episodes of seed 5, and in the first attempt at seed 3."""

    def __init__(self, folder: str = "") -> None:
        self.folder = Path(folder)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.seed, self.turn = seed, 0
        return f"seed {seed}", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.turn += 1
        if self.turn == 5 and self.seed == 3 and not (self.folder / "once").exists():
            (self.folder / "once").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if self.turn == 5 and self.seed == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return f"turn {self.turn}", 1.0, self.turn == 10, False, {}


@pytest.mark.nightly
def test_an_episode_that_kills_its_actor_harms_no_other(cluster: str, tmp_path: Path) -> None:
    """Every key is delivered once: that of the deadly seed as failed, all others as if nothing had happened."""
    gem.register("test:Deadly-v0", Deadly, replace=True)
    spec = gem.spec("test:Deadly-v0").with_kwargs({"folder": str(tmp_path)})
    with rollout(spec, "null", episodes=64, num_envs=8, shards=2) as played:
        episodes = list(played)
        assert sum(played.incarnations) >= 3  # as many as were lost with the episode
    assert Counter(episode.seed for episode in episodes) == Counter(range(64))
    (failed,) = (episode for episode in episodes if episode.failure)
    assert failed.seed == 5
    assert failed.failure is not None
    assert (failed.failure.source, failed.failure.kind) == ("environment", "crash")
    assert all(episode.episode_return == 10.0 for episode in episodes if episode.seed != 5)


class Unmakeable(Deadly):
    """Refuses to be made."""

    def __init__(self) -> None:
        raise ArgumentError("not today")


@pytest.mark.nightly
def test_what_keeps_an_environment_from_being_made_is_raised(cluster: str) -> None:
    """As on one machine; and a policy that does not exist likewise."""
    gem.register("test:Unmakeable-v0", Unmakeable, replace=True)
    with rollout("test:Unmakeable-v0", "null", episodes=2, shards=1) as played, pytest.raises(ArgumentError):
        list(played)
    with rollout(IDS[0], "no_such:Policy", episodes=2, shards=1) as played, pytest.raises(EntryPointError):
        list(played)
