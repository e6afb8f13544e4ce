"""EpisodeTracking: counters in every info."""

from __future__ import annotations

from typing import Any

import pytest

from gem.core import Env, Info
from gem.errors import ArgumentTypeError
from gem.multiagent import MultiAgentEnv
from gem.wrappers.tracking import EpisodeTracking


class Pays(Env[str, str]):
    """Pays what the action says."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        return f"level {(options or {}).get('level', 1)}", {"turn": 0}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        return "go on", float(action), False, False, {"turn": 1}


def test_steps_and_rewards_are_counted() -> None:
    """Next to what the environment says itself."""
    env = EpisodeTracking(Pays())
    env.reset()
    assert env.step("0.5")[-1] == {"turn": 1, "step_counter": 1, "cumulative_rewards": 0.5}
    assert env.step("-2")[-1] == {"turn": 1, "step_counter": 2, "cumulative_rewards": -1.5}


def test_reset_says_what_the_last_episode_came_to() -> None:
    """Zero before the first episode; an abandoned episode counts as well."""
    env = EpisodeTracking(Pays())
    nothing = {"step_counter": 0, "cumulative_rewards": 0.0}
    before = {"prev_ep_step_counter": 0, "prev_ep_cumulative_rewards": 0.0}
    assert env.reset()[1] == {"turn": 0, **nothing, **before}
    env.step("1")
    env.step("2")
    last = {"prev_ep_step_counter": 2, "prev_ep_cumulative_rewards": 3.0}
    assert env.reset()[1] == {"turn": 0, **nothing, **last}
    assert env.reset()[1] == {"turn": 0, **nothing, **before}


def test_the_environments_own_infos_stay_as_they_are() -> None:
    """An environment may keep the dict that it returned."""
    kept: Info = {"turn": 0}

    class Keeps(Pays):
        def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
            return "begin", kept

        def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
            return "go on", 0.0, False, False, kept

    env = EpisodeTracking(Keeps())
    env.reset()
    env.step("")
    assert kept == {"turn": 0}


def test_reset_takes_options() -> None:
    """They reach the environment."""
    assert EpisodeTracking(Pays()).reset(seed=1, options={"level": 3})[0] == "level 3"


def test_an_environment_with_several_agents_is_refused_by_name() -> None:
    """The sum of one reward a step means nothing there, and the message says where the sums are."""

    class Party(MultiAgentEnv):
        def observe(self, agent: str) -> str:
            return ""

    with pytest.raises(ArgumentTypeError, match=r"Party.*cumulative_rewards"):
        EpisodeTracking(Party(["one", "two"]))
