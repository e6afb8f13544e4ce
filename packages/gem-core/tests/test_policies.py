"""Policies: the smallest agents."""

from __future__ import annotations

from typing import Any

import pytest

import gem
from gem.core import Env, Info
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, NotSupportedError
from gem.policies import Policy, RandomPolicy, ScriptedPolicy, make_policy


class Secret(Env[str, str]):
    """Hides a word that only its state tells."""

    word = "sesame"

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        return "What is the word?", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        return "", float(action == self.word), True, False, {}

    def sample_random_action(self) -> str:
        return f"guess {self.action_rng.randrange(1000)}"


class Oracle(Policy[str, str]):
    """Reads the answer."""

    def __init__(self, env: Secret) -> None:
        self.env = env

    def act(self, observation: str, info: Info) -> str:
        return self.env.word


class Honest(Policy[str, str]):
    """Gets nothing to look at but observations."""

    def act(self, observation: str, info: Info) -> str:
        return "?"


def secret(**facts: Any) -> Env[Any, Any]:
    env = gem.make(EnvSpec(id="test:Secret-v0", entry_point=Secret, **facts))
    env.reset(seed=1)
    return env


def test_the_random_policy_samples_from_the_environment() -> None:
    """Its actions follow from the seed of the reset."""
    one, two = secret(), secret()
    assert [make_policy("random", one).act("", {}) for _ in range(3)] == [
        RandomPolicy(two).act("", {}) for _ in range(3)
    ]


def test_a_reference_policy_sees_what_the_manifest_declares() -> None:
    """Only one that is declared to read the state gets the environment, and it gets it unwrapped."""
    env = gem.Wrapper(secret(reference_policy=f"{__name__}:Oracle", reference_sees="state"))
    assert env.step(make_policy("reference", env).act("", {}))[1] == 1.0
    honest = secret(reference_policy=f"{__name__}:Honest")
    assert isinstance(make_policy("reference", honest), Honest)


def test_a_missing_reference_policy_says_so() -> None:
    """The message names the environment."""
    with pytest.raises(NotSupportedError, match="'test:Secret-v0' declares no reference policy"):
        make_policy("reference", secret())
    with pytest.raises(ArgumentError, match="or 'module:Class', got 'best'"):
        make_policy("best", secret())
    with pytest.raises(NotSupportedError, match="does not implement act"):
        Policy[str, str]().act("", {})


def test_a_script_plays_from_its_beginning_in_every_episode() -> None:
    """A script that is over before the episode is says how long it was."""
    script = ScriptedPolicy(["a", "b"])
    for _ in range(2):
        script.reset("", {})
        assert [script.act("", {}), script.act("", {})] == ["a", "b"]
    with pytest.raises(ArgumentError, match="ends after 2 actions"):
        script.act("", {})
