"""Cheats on the hidden tests of a repository: none pays, and the solution does."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from gem_envs_swe import SweEnv
from gem_envs_swe.policies.cheats import SweCheatPolicy, cheats
from gem_envs_swe.policies.reference import SweNullPolicy, SweReferencePolicy, bash_call, writing_command
from gem_terminal.engines import Engine

LAZY = (
    "edit the test", "conftest in the root", "an entry point of pytest", "sitecustomize", "os._exit at import",
    "a constant for everything", "an object that equals everything", "pytest runs nothing but what has a long name",
    "a plugin for the listed tests alone", "unittest asserts nothing",
)  # fmt: skip


DEAD = frozenset[str]()
"""Cheats that do not even pay where everything in the tree counts."""


def played(
    env: SweEnv, policy: SweCheatPolicy | SweNullPolicy | SweReferencePolicy, task: str
) -> tuple[float, dict[str, Any]]:
    """Play one episode; return its reward and the last info."""
    observation, info = env.reset(options={"task": task})
    policy.reset(observation, info)
    while True:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
        if terminated or truncated:
            return reward, info


def paying(env: SweEnv, names: Iterable[str], task: str) -> dict[str, float]:
    """Return the cheats that earn something, in either form of the reward that counts shares of tests."""
    paid = {}
    for name in names:
        reward, info = played(env, SweCheatPolicy(env, name), task)
        assert "error" not in info, (name, info)
        if reward:
            paid[name] = reward
    return paid


@pytest.mark.slow(reason="each cheat is an episode with a verdict; the first test builds the image of the set")
@pytest.mark.only_engine("namespace")
def test_lazy_policies_earn_nothing(tally: Path, engine: Engine) -> None:
    """In the reward of all tests; the solution earns 1.0 and silence 0.0."""
    with SweEnv(tally, engine=engine) as env:
        assert played(env, SweReferencePolicy(env), "tally-most")[0] == 1.0
        assert played(env, SweNullPolicy(env), "tally-most")[0] == 0.0
        assert paying(env, LAZY, "tally-most") == {}


@pytest.mark.nightly
@pytest.mark.only_engine("namespace", "docker")
@pytest.mark.parametrize("task", ["tally-chunks", "tally-most"])
@pytest.mark.parametrize("part", range(4))
def test_no_cheat_pays(tally: Path, engine: Engine, task: str, part: int) -> None:
    """On each engine, whichever task."""
    with SweEnv(tally, engine=engine, max_turns=5) as env:
        assert played(env, SweReferencePolicy(env), task)[0] == 1.0
        assert paying(env, list(cheats())[part::4], task) == {}


@pytest.mark.nightly
@pytest.mark.only_engine("namespace")
def test_most_cheats_are_live_ones(tally: Path, engine: Engine) -> None:
    """Judged by pytest in the agent's own container, they pass for a solution; those that do not are listed."""
    dead = set()
    with SweEnv(tally, engine=engine, max_turns=5) as env:
        for name in cheats():
            env.reset(options={"task": "tally-most"})
            policy = SweCheatPolicy(env, name)
            env.step(policy.act("", {}))
            hidden = env.swe_task.test_text("tests/test_counting.py")
            assert hidden is not None
            env.step(bash_call(writing_command("tests/test_hidden.py", hidden)))
            run = env.step(bash_call("python3 -m pytest -q -k 'test_most or test_nothing' -p no:cacheprovider"))[4]
            if run["exit_code"] not in (0, 5):
                dead.add(name)
    assert dead <= DEAD
