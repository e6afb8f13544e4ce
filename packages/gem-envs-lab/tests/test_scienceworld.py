"""ScienceWorld through its simulator: scores, splits, copies, processes, and errors without Java or the package."""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError, NotSupportedError
from gem_envs_lab.scienceworld import simulator
from gem_envs_lab.scienceworld.env import ScienceWorldEnv, ScienceWorldPolicy, _LastLine

PLAYABLE = importlib.util.find_spec("scienceworld") is not None and shutil.which("java") is not None
nightly = pytest.mark.nightly
needs_java = pytest.mark.skipif(not PLAYABLE, reason="ScienceWorld needs Java and the package scienceworld")


@pytest.fixture
def environments() -> Iterator[list[ScienceWorldEnv]]:
    """A list of environments, which are closed; all simulators end."""
    made: list[ScienceWorldEnv] = []
    try:
        yield made
    finally:
        for env in made:
            env.close()
        while simulator._idle:
            simulator._idle.pop().close()


def science_world(made: list[ScienceWorldEnv], **kwargs: Any) -> ScienceWorldEnv:
    env = gem.make("lab:ScienceWorld-v0", **kwargs).unwrapped
    assert isinstance(env, ScienceWorldEnv)
    made.append(env)
    return env


def test_it_is_listed_without_an_import() -> None:
    """Neither the simulator's package nor py4j is loaded to find the id and to make it."""
    code = (
        "import sys, gem\n"
        "assert 'lab:ScienceWorld-v0' in {spec.id for spec in gem.all_specs('lab')}\n"
        "gem.make('lab:ScienceWorld-v0')\n"
        "assert not {'scienceworld', 'py4j'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the first reset."""
    monkeypatch.setitem(sys.modules, "scienceworld.constants", None)
    with pytest.raises(NotSupportedError, match=r"pip install 'gem-envs-lab\[scienceworld\]'"):
        gem.make("lab:ScienceWorld-v0").reset(seed=0)


@pytest.mark.skipif(importlib.util.find_spec("scienceworld") is None, reason="the package scienceworld is missing")
def test_without_java_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the first reset, and nothing was started."""
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(NotSupportedError, match="apt-get install default-jre-headless"):
        gem.make("lab:ScienceWorld-v0").reset(seed=0)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("open door to kitchen", "open door to kitchen"),
        ("I think.\nAction: look around\n", "look around"),
        ("`wait`", "wait"),
        ("wait\x00\x1b[2J", "wait[2J"),
        ("\n", None),
        ("x" * 301, None),
    ],
)
def test_the_last_line_is_the_action(text: str, action: str | None) -> None:
    """Without marks and without characters that cannot be printed."""
    assert _LastLine().read(text) == action


@nightly
@needs_java
@pytest.mark.parametrize("task", ["4-1", "6-1", "3-1", "find-non-living-thing"])
def test_the_simulators_own_solution_reaches_the_full_score(task: str, environments: list[ScienceWorldEnv]) -> None:
    """Replayed through the environment, the changes of the score add up to 1, or to 100 as they are."""
    for raw_rewards, full in ((False, 1.0), (True, 100.0)):
        env = science_world(environments, task=task, raw_rewards=raw_rewards)
        policy = ScienceWorldPolicy(env)
        observation, info = env.reset(seed=1)
        policy.reset(observation, info)
        total, over = 0.0, False
        while not over:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            total, over = total + reward, terminated or truncated
        assert total == pytest.approx(full)
        assert info["success"]


@nightly
@needs_java
def test_a_wrong_focus_ends_the_task_and_earns_nothing(environments: list[ScienceWorldEnv]) -> None:
    """The score falls to -100, which counts as 0 unless raw rewards are wanted."""
    for raw_rewards, lowest in ((False, 0.0), (True, -100.0)):
        env = science_world(environments, task="boil", raw_rewards=raw_rewards)
        env.reset(seed=0)
        _, reward, terminated, _, info = env.step("focus on agent")
        assert (reward, terminated, info["success"]) == (lowest, True, False)


@nightly
@needs_java
def test_a_copy_continues_in_a_simulator_of_its_own(environments: list[ScienceWorldEnv]) -> None:
    """By its state and by pickle, and the seed gives the same episode."""
    env = science_world(environments, task="4-1", simplifications="easy")
    first = env.reset(seed=2)[0]
    env.step("look around")
    copies = [science_world(environments, task="4-1", simplifications="easy"), pickle.loads(pickle.dumps(env))]
    environments.append(copies[1])
    copies[0].set_state(json.loads(json.dumps(env.get_state())))
    actions = ["open door to kitchen", "inventory", "look around"]
    expected = [env.step(action)[0] for action in actions]
    for copy in copies:
        assert [copy.step(action)[0] for action in actions] == expected
    assert copies[0].reset(seed=2)[0] == first


@nightly
@needs_java
def test_splits_are_the_simulators_and_closed_environments_leave_their_process(
    environments: list[ScienceWorldEnv],
) -> None:
    """Ten environments one after the other need one process, and no variation is in two splits."""
    drawn: dict[str, set[int]] = {}
    processes = set()
    for split in ("train", "dev", "test"):
        for seed in range(3):
            env = science_world(environments, task="4-2", split=split)
            env.reset(seed=seed)
            drawn.setdefault(split, set()).add(env._variation)
            assert env._simulator is not None
            processes.add(env._simulator._process.pid)
            env.close()
    assert len(processes) == 1
    assert not drawn["train"] & drawn["dev"]
    assert not drawn["train"] & drawn["test"]
    assert not drawn["dev"] & drawn["test"]
    for kwargs in ({"task": "no-such-task"}, {"simplifications": "flying"}):
        with pytest.raises(ArgumentError):
            science_world(environments, **kwargs).reset(seed=0)


@nightly
@needs_java
def test_a_simulator_that_dies_is_a_fault_and_the_next_episode_has_another(
    environments: list[ScienceWorldEnv],
) -> None:
    """The episode is truncated with the reason; no other environment is touched."""
    env = science_world(environments, task="4-1")
    env.reset(seed=0)
    assert env._simulator is not None
    env._simulator._gateway.jvm.System  # noqa: B018  # the connection works
    env._simulator._server = None
    _, reward, terminated, truncated, info = env.step("look around")
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert "error" in info
    assert "room" in env.reset(seed=0)[0] or "outside" in env.reset(seed=0)[0]
