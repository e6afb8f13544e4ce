"""tau2-bench from a checkout of the user: the reward is tau2's.

The nightly tests need ``GEM_TAU2_PATH``, the folder of a checkout, and ``GEM_TAU2_PYTHON``, an interpreter with its
dependencies. Without the path they are skipped: no machine of ours has the checkout.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError
from gem_envs_desk.adapters.tau2_env import Tau2Env, Tau2Policy

STOP = '<tool_call>{"name": "done", "arguments": {}}</tool_call>'
TASKS = (0, 3, 17, 40)


@pytest.fixture
def checkout() -> tuple[str, str]:
    """The folder of the checkout and its interpreter."""
    path = os.environ.get("GEM_TAU2_PATH")
    if not path:
        pytest.skip("GEM_TAU2_PATH names no checkout of tau2-bench")
    return path, os.environ.get("GEM_TAU2_PYTHON", sys.executable)


def test_a_missing_checkout_is_named(tmp_path: Path) -> None:
    """Without a path, and with one that holds something else; the remedy is in the message."""
    with gem.make("desk:Tau2-v0") as env, pytest.raises(ArgumentError, match="clone"):
        env.reset(seed=0)
    with Tau2Env(path=str(tmp_path)) as env, pytest.raises(ArgumentError, match="no checkout"):
        env.reset(seed=0)
    with pytest.raises(ArgumentError, match="user_model"):
        Tau2Env(user="model")


def test_an_interpreter_without_tau2_is_an_error_with_the_reason(tmp_path: Path) -> None:
    """The process answers, and its error reaches the caller."""
    (tmp_path / "src" / "tau2" / "orchestrator").mkdir(parents=True)
    with Tau2Env(path=str(tmp_path)) as env, pytest.raises(gem.errors.GemError, match="No module named"):
        env.reset(seed=0)


def play(env: Tau2Env, actions: Any) -> tuple[float, dict[str, Any]]:
    for action in actions:
        _, reward, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            return reward, info
    raise AssertionError("the conversation goes on")


@pytest.mark.nightly
@pytest.mark.parametrize(("domain", "retrieval"), [("retail", None), ("banking_knowledge", "bm25_grep")])
def test_the_reward_is_that_of_tau2_itself(checkout: tuple[str, str], domain: str, retrieval: str | None) -> None:
    """For the gold actions and for doing nothing, also where the agent would search documents."""
    path, python = checkout
    found, ids = [], []
    with Tau2Env(path=path, python=python, domain=domain, retrieval=retrieval, user="gold") as env:
        for task in TASKS:
            observation, info = env.reset(seed=0, options={"task": task})
            ids.append(env.task_id)
            policy = Tau2Policy(env)
            policy.reset(observation, info)
            found.append(play(env, iter(lambda policy=policy: policy.act("", {}), None))[0])  # type: ignore[misc]
            env.reset(seed=0, options={"task": task})
            found.append(play(env, [STOP])[0])
    script = Path(__file__).with_name("tau2_rewards.py")
    command = [python, str(script), path, f"{domain}:{retrieval or ''}", "both", *ids]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found == json.loads(done.stdout)
    assert found[::2] == [1.0] * len(TASKS)
    assert 0.0 in found


@pytest.mark.nightly
def test_a_conversation_is_restored_from_its_state(checkout: tuple[str, str]) -> None:
    """By the moves, in a new session."""
    path, python = checkout
    with Tau2Env(path=path, python=python) as env:
        observation, info = env.reset(seed=0, options={"task": 0})
        policy = Tau2Policy(env)
        policy.reset(observation, info)
        for _ in range(4):
            env.step(policy.act("", {}))
        state = json.loads(json.dumps(env.get_state()))
        rest = policy._left[::-1]
        with Tau2Env(path=path, python=python) as other:
            other.set_state(state)
            assert play(other, rest)[0] == 1.0
        assert play(env, rest)[0] == 1.0
