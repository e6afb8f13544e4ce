"""Gymnasium's environments as text, and ours in Gymnasium, with the installed library on the other side."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.errors import ArgumentError, NotSupportedError, StateError
from gem_testing import EnvConformance

gymnasium = pytest.importorskip("gymnasium", reason="gem-bridges[gymnasium] brings it")
from gem_bridges.gymnasium.codec import NotInSpaceError, check_readable, from_text, to_text  # noqa: E402
from gem_bridges.gymnasium.outward import GemAsGymnasium  # noqa: E402

SPACES = gymnasium.spaces


@pytest.mark.nightly
class TestConformance(EnvConformance):
    """Environments of Gymnasium keep every clause that does not need a manifest."""

    environments = (gem.spec("gym:CartPole-v1"), gem.spec("gym:FrozenLake-v1"))


def test_an_episode_is_gymnasiums() -> None:
    """Same observations, rewards and flags as the environment itself with that seed."""
    env = gem.make("gym:CartPole-v1")
    observation, _ = env.reset(seed=3)
    theirs = gymnasium.make("CartPole-v1")
    shown, _ = theirs.reset(seed=env.get_state()["env_seed"])
    for turn in range(500):
        assert json.loads(observation.partition("Observation: ")[2]) == shown.tolist()
        shown, reward, terminated, truncated, _ = theirs.step(turn % 2)
        observation, *ours, info = env.step(f"I go \\boxed{{{turn % 2}}}")
        assert ours == [reward, terminated, truncated]
        assert info["turn"] == turn + 1
        if terminated or truncated:
            break
    assert terminated


def test_an_unreadable_action_does_not_reach_the_environment() -> None:
    """It costs a turn, and the last turn ends the episode."""
    env = gem.make("gym:CartPole-v1", max_turns=3)
    env.reset(seed=0)
    for action in ("left", "\\boxed{2}"):
        _, reward, terminated, truncated, info = env.step(action)
        assert (reward, terminated, truncated, info["action_status"]) == (0.0, False, False, "malformed")
    assert env.step("\\boxed{true}")[2:4] == (True, True)
    assert env.get_state()["actions"] == [None] * 3


def test_a_state_plays_the_actions_again() -> None:
    """In another instance, which then goes on alike."""
    env, twin = gem.make("gym:FrozenLake-v1"), gem.make("gym:FrozenLake-v1")
    env.reset(seed=1)
    for action in ("\\boxed{1}", "no action", "\\boxed{2}"):
        if env.get_state()["phase"] == "playing":
            env.step(action)
    twin.set_state(env.get_state())
    assert env.reset() == twin.reset()
    assert env.step("\\boxed{1}") == twin.step("\\boxed{1}")
    with pytest.raises(StateError):
        twin.set_state({**env.get_state(), "environment": "CartPole-v1"})


def test_a_state_has_the_options_of_its_episode() -> None:
    """They decide how it began; a copy by pickle has them too."""
    env, twin = gem.make("gym:CartPole-v1"), gem.make("gym:CartPole-v1")
    wide, _ = env.reset(seed=1, options={"low": 0.15, "high": 0.2})
    assert min(json.loads(wide.partition("Observation: ")[2])) >= 0.15
    twin.set_state(json.loads(json.dumps(env.get_state())))
    copy = pickle.loads(pickle.dumps(env))
    expected = env.step("\\boxed{1}")
    assert twin.step("\\boxed{1}") == copy.step("\\boxed{1}") == expected
    narrow, _ = env.reset()
    assert max(map(abs, json.loads(narrow.partition("Observation: ")[2]))) <= 0.05
    with pytest.raises(StateError):
        twin.set_state({**env.get_state(), "options": [1]})
    assert twin.get_state()["options"] == {"low": 0.15, "high": 0.2}


@pytest.mark.parametrize(
    "space",
    [
        SPACES.Discrete(5, start=-2),
        SPACES.MultiDiscrete([3, 4]),
        SPACES.MultiBinary(6),
        SPACES.Box(-1.0, 1.0, (2, 3)),
        SPACES.Text(9),
        SPACES.Tuple([SPACES.Discrete(3), SPACES.Box(0, 9, (2,), dtype=int)]),
        SPACES.Dict({"a": SPACES.Discrete(3), "b": SPACES.MultiBinary(2)}),
    ],
    ids=str,
)
@given(seed=st.integers(0, 2**31 - 1))
def test_a_value_survives_its_text(space: object, seed: int) -> None:
    """Gymnasium's own samples, read back, are in the space and read alike."""
    space.seed(seed)  # type: ignore[attr-defined]
    text = to_text(space, space.sample())  # type: ignore[attr-defined]
    value = from_text(space, text)
    assert space.contains(value)  # type: ignore[attr-defined]
    assert to_text(space, value) == text


@pytest.mark.parametrize("text", ["", "{}", "[1]", "[1, 2]]", "[0.5, NaN]", "[" * 5000, "9" * 5000, '["a"]'])
def test_other_texts_are_no_action(text: str) -> None:
    """Whatever they are."""
    with pytest.raises(NotInSpaceError):
        from_text(SPACES.Box(-1.0, 1.0, (2,)), text)


def test_what_cannot_be_told_is_refused() -> None:
    """An unknown id with Gymnasium's own message, and pictures."""
    with pytest.raises(ArgumentError, match="gym:NoSuch-v0 cannot be made"):
        gem.make("gym:NoSuch-v0")
    with pytest.raises(NotSupportedError, match="numbers"):
        check_readable(SPACES.Box(0, 255, (96, 96, 3), dtype="uint8"), "a picture")


def test_an_id_is_resolved_without_gymnasium() -> None:
    """The spec needs no import of the library."""
    script = "import sys, gem\nprint(gem.spec('gym:CartPole-v1').id, 'gymnasium' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "gym:CartPole-v1 False\n"


@pytest.mark.filterwarnings("ignore")  # the checker advises; what it forbids it raises
def test_gymnasiums_checker_accepts_an_environment_of_ours() -> None:
    """And an episode of it is GEM's."""
    from gymnasium.utils.env_checker import check_env

    check_env(GemAsGymnasium("game:GuessTheNumber-v0"), skip_render_check=True)
    env, ours = GemAsGymnasium("game:GuessTheNumber-v0"), gem.make("game:GuessTheNumber-v0")
    assert env.reset(seed=4) == ours.reset(seed=4)
    action = env.action_space.sample()
    assert env.step(action) == ours.step(action)
    env.close()
