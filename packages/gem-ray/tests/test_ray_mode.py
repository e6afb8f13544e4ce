"""``mode="ray"`` on a real cluster."""

from __future__ import annotations

import ctypes
import os
import random
import signal
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError, ArgumentTypeError, VectorError
from gem.vector import VectorEnv
from gem_ray import RayVectorEnv

pytestmark = [
    pytest.mark.slow(reason="a Ray cluster takes seconds to start, and an actor one"),
    pytest.mark.xdist_group("ray"),
]


class Process(gem.Env[str, str]):
    """Says which process it runs in, and obeys.

    ``die`` kills the process, ``stick`` stops it, ``raise`` fails, ``end`` ends the episode.
    """

    def __init__(self, size: int = 1) -> None:
        self.size = size

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.turn = 0
        return "begin", {"pid": os.getpid(), "size": self.size}

    def pid(self) -> int:
        return os.getpid()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.turn += 1
        if action == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if action == "stick":
            ctypes.PyDLL(None).sleep(600)  # and keeps the interpreter's lock
        if action == "raise":
            raise RuntimeError("as told")
        return f"turn {self.turn}", 1.0, action == "end", False, {"pid": os.getpid()}


def trace(mode: str, specs: Sequence[Any], steps: int, mode_kwargs: Mapping[str, Any] | None = None) -> list[Any]:
    """Return all results of a short run, with actions that depend on nothing but the place in it."""
    rng = random.Random(5)
    SAMPLERS.clear()
    with gem.make_vec(specs, mode=mode, seed=17, mode_kwargs=mode_kwargs) as envs:
        seen: list[Any] = [envs.reset()]
        for _ in range(steps):
            actions = [actions_of(spec, rng) for spec in specs]
            observations, rewards, terminations, truncations, infos = envs.step(actions)
            seen.append((observations, rewards.tolist(), terminations.tolist(), truncations.tolist(), infos))
    return seen


SAMPLERS: dict[str, gem.Env[Any, Any]] = {}


def actions_of(spec: Any, rng: random.Random) -> Any:
    """Return a well-formed action of an environment, or one that ends most episodes."""
    if rng.random() < 0.1:
        return "no box"
    sampler = SAMPLERS.get(spec.id)
    if sampler is None:
        sampler = SAMPLERS[spec.id] = gem.make(spec)
        sampler.reset(seed=1)
    try:
        return sampler.sample_random_action()
    except gem.errors.NotSupportedError:
        return "\\boxed{1 1 1}"


@pytest.mark.parametrize("variants", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_every_game_plays_the_same_episodes_as_in_sync_mode(cluster: str, variants: bool) -> None:
    """Observations, rewards, flags and infos are equal, autoresets included; of all variants on several actors."""
    specs = [spec for spec in gem.all_specs("game") if not spec.requires]
    if not variants:
        specs = list({spec.entry_point: spec for spec in specs}.values())
    assert trace("ray", specs, 8, {"envs_per_actor": 64}) == trace("sync", specs, 8)


class Wordy(Process):
    """Long observations, which leave an actor as what was added to the last one."""

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        text, reward, terminated, truncated, info = super().step(action)
        return f"{text} {'and so on ' * 40}", reward, terminated, truncated, info


@pytest.mark.nightly
def test_histories_are_whole_also_after_a_loss(cluster: str) -> None:
    """Each observation has all of its episode as in sync mode; a new actor has none of the old one's texts."""
    gem.register("test:Wordy-v0", Wordy, replace=True)

    def played(mode: str, actions: Sequence[str]) -> list[Sequence[str]]:
        with gem.make_vec("test:Wordy-v0", num_envs=3, mode=mode, seed=3, wrappers="concat_with_action") as envs:
            return [envs.reset()[0], *(envs.step([action] * 3)[0] for action in actions)]

    expected = played("sync", ["go", "on", "end", "go", "on"])
    assert played("ray", ["go", "on", "end", "go", "on"]) == expected
    after_loss = played("ray", ["go", "die", "go", "on"])
    assert after_loss[2] == expected[0]  # a new episode; autoreset is in the same step
    assert after_loss[3:] == expected[1:3]


@pytest.fixture(scope="module")
def envs(cluster: str) -> Any:
    """Eight environments in two actors."""
    gem.register("test:Process-v0", Process, replace=True)
    with gem.make_vec("test:Process-v0", num_envs=8, mode="ray", seed=3, mode_kwargs={"envs_per_actor": 4}) as envs:
        yield envs


def test_environments_share_the_process_of_their_actor(envs: RayVectorEnv) -> None:
    """Environments that share an actor share a process, which is not this one; other actors have other processes."""
    _, infos = envs.reset()
    pids = [info["pid"] for info in infos]
    assert len(set(pids[:4])) == len(set(pids[4:])) == 1
    assert len({*pids, os.getpid()}) == 3


def test_a_lost_actor_ends_its_own_episodes_and_no_other(envs: RayVectorEnv) -> None:
    """Four episodes end truncated with the cause, four go on; the next ones run in a new process, and counts add up."""
    before, lost = envs.incarnations, envs.lost_episodes
    _, infos = envs.reset(seed=20)
    old = infos[0]["pid"]
    observations, rewards, terminations, truncations, infos = envs.step(["die", *["go"] * 7])
    assert truncations.tolist() == [True] * 4 + [False] * 4
    assert not terminations.any()
    assert rewards.tolist() == [0.0] * 4 + [1.0] * 4
    for index in range(4):
        assert infos[index]["error"].startswith("ProcessCrashError: the Ray actor of this environment was lost")
        assert infos[index]["final_observation"] == observations[index] == "begin"
        assert infos[index]["final_info"]["seed"] == 20 + index
        assert infos[index]["pid"] != old
    assert observations[4:] == ["turn 1"] * 4
    assert envs.lost_episodes - lost == 4
    assert [now - then for now, then in zip(envs.incarnations, before, strict=True)] == [1, 0]
    assert envs.step(["go"] * 8)[0] == ["turn 1"] * 4 + ["turn 2"] * 4


@pytest.mark.nightly
def test_an_actor_lost_between_calls_is_noticed_at_the_next(envs: RayVectorEnv) -> None:
    """Environments with nothing pending report the loss with their next result, also those that were not stepped."""
    _, infos = envs.reset(seed=20)
    os.kill(infos[0]["pid"], signal.SIGKILL)
    assert envs.step({0: "go"})[3].tolist() == [True]
    assert envs.step({0: "go", 1: "go", 4: "go"})[3].tolist() == [False, True, False]
    _, infos = envs.reset()
    assert not any("error" in info for info in infos)


@pytest.mark.nightly
def test_counts_add_up_over_many_losses(envs: RayVectorEnv) -> None:
    """Each action has one result: a turn, or the end of a lost episode with its cause; the counters say how many."""
    rng = random.Random(3)
    lost_before, actors_before = envs.lost_episodes, sum(envs.incarnations)
    _, infos = envs.reset(seed=20)
    pids = [info["pid"] for info in infos]
    results: list[tuple[float, bool, bool, dict[str, Any]]] = []
    killed: set[int] = set()
    sent, idle = 0, list(range(8))
    going_on = True
    while going_on or envs.num_pending:
        going_on = len(killed) < 3 or sent < 200
        if going_on:
            envs.send({index: rng.choice(["go", "go", "end"]) for index in idle})
            sent += len(idle)
            first = rng.choice([0, 4])
            pid = pids[first]
            if rng.random() < 0.1 and pids[first : first + 4] == [pid] * 4 and pid not in killed:
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
        if envs.num_pending:
            ready = envs.recv()
            idle = list(ready.indices)
            for index, info in zip(ready.indices, ready.infos, strict=True):
                pids[index] = info["pid"]
            results += zip(ready.rewards, ready.terminations, ready.truncations, ready.infos, strict=True)
    last = envs.step(["go"] * 8)
    results += zip(*last[1:], strict=True)
    assert len(results) == sent + 8
    lost = [info["error"] for _, _, truncated, info in results if truncated]
    assert all(error.startswith("ProcessCrashError: the Ray actor") for error in lost)
    assert all(truncated == ("error" in info) == (reward == 0.0) for reward, _, truncated, info in results)
    assert sum(terminated for _, terminated, _, _ in results) > 20
    assert sum(envs.incarnations) - actors_before == len(killed)
    assert len(lost) == envs.lost_episodes - lost_before == 4 * len(killed)


@pytest.mark.nightly
def test_an_actor_that_is_lost_between_episodes_has_lost_none(cluster: str) -> None:
    """Before the first reset and after the end of an episode there is nothing to truncate, and nothing is counted."""
    gem.register("test:Process-v0", Process, replace=True)
    with gem.make_vec("test:Process-v0", num_envs=2, mode="ray", seed=3, autoreset="disabled") as envs:
        assert isinstance(envs, RayVectorEnv)
        os.kill(envs.env_at(0).pid(), signal.SIGKILL)  # type: ignore[attr-defined]
        _, infos = envs.reset()
        assert not any("error" in info for info in infos)
        assert envs.lost_episodes == 0
        envs.step({0: "end"})
        os.kill(infos[1]["pid"], signal.SIGKILL)
        assert envs.step({1: "go"})[3].tolist() == [True]
        assert "error" not in envs.reset_at([0])[1][0]
        assert envs.lost_episodes == 1
        assert envs.incarnations == (3,)


def test_faults_and_exceptions_are_those_of_the_other_modes(envs: RayVectorEnv) -> None:
    """A step that raises truncates its episode; an action that cannot be sent raises, and the others are played."""
    envs.reset(seed=20)
    envs.step({0: "raise"})
    _, _, _, truncations, infos = envs.step({0: "go", 1: "raise"})
    assert truncations.tolist() == [False, True]
    assert infos[1]["error"] == "RuntimeError: as told"
    with pytest.raises(ArgumentTypeError, match="what environment 2 was given cannot be sent"):
        envs.step({2: threading.Lock(), 3: "go"})
    with pytest.raises(VectorError, match="environment 2 has no episode"):
        envs.step({2: "go"})
    envs.reset_at([2])
    assert envs.step({2: "go", 3: "go"})[0] == ["turn 1", "turn 2"]


def test_send_and_recv_return_what_is_ready(envs: RayVectorEnv) -> None:
    """Many small sends end in few calls, at most two at a time for an actor, and every action has one result."""
    envs.reset(seed=20)
    played = [0] * 8
    for index in range(8):
        envs.send({index: "go"})
        assert max(len(link.calls) for link in envs._links) <= 2
    while min(played) < 5:
        ready = envs.recv()
        for index, observation in zip(ready.indices, ready.observations, strict=True):
            played[index] += 1
            assert observation == f"turn {played[index]}"
        envs.send(dict.fromkeys(ready.indices, "go"))
    while envs.num_pending:
        envs.recv(min_ready=envs.num_pending)


def test_what_the_cluster_has_no_room_for_is_an_error(cluster: str) -> None:
    """The message says what an actor needs, what there is, and how many environments wait."""
    gem.register("test:Process-v0", Process, replace=True)
    with pytest.raises(
        VectorError, match=r"1 of 1 Ray actors, with 2 environments, .* 1 CPU, 1 docker; .* 4 CPU"
    ) as found:
        gem.make_vec(
            "test:Process-v0",
            num_envs=2,
            mode="ray",
            mode_kwargs={
                "resources": {"test:*": {"num_cpus": 1, "resources": {"docker": 1}}},
                "start_timeout": 0.5,
            },
        )
    assert "start_timeout=" in str(found.value)


@pytest.mark.nightly
def test_an_environment_that_cannot_be_made_raises_its_own_error(cluster: str) -> None:
    """The constructor's exception arrives as it is."""
    gem.register("test:Refusing-v0", Refusing, replace=True)
    with pytest.raises(ArgumentError, match="not today"):
        gem.make_vec("test:Refusing-v0", num_envs=2, mode="ray")


@pytest.mark.nightly
def test_native_code_that_holds_up_its_process_is_a_lost_actor(cluster: str) -> None:
    """No thread of the actor can enforce the time limit then; it ends ten seconds later, and the run goes on."""
    gem.register("test:Process-v0", Process, replace=True)
    with gem.make_vec("test:Process-v0", num_envs=2, mode="ray", seed=3, step_timeout=1.0) as envs:
        envs.reset()
        _, _, _, truncations, infos = envs.step({0: "stick"})
        assert truncations.tolist() == [True]
        assert infos[0]["error"].startswith("ProcessCrashError: the Ray actor")
        assert envs.step({0: "go", 1: "go"})[3].tolist() == [False, True]
        assert isinstance(envs, RayVectorEnv)
        assert envs.lost_episodes == 2


class Refusing(Process):
    """Refuses to be made."""

    def __init__(self) -> None:
        raise ArgumentError("not today")


def test_it_is_a_vector_environment_by_its_name() -> None:
    """The plugin brings the mode, and importing the plugin loads no Ray."""
    from gem.plugins import lookup

    assert issubclass(lookup("gem_vector_backends", "ray", "vectorization mode"), VectorEnv)
