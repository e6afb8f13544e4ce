"""GuessTheNumber: its rules, its rewards and its policy."""

from __future__ import annotations

import math
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError, StateError
from gem_envs_games.guess_the_number import GuessTheNumberEnv, GuessTheNumberPolicy


def hiding(number: int, **kwargs: Any) -> GuessTheNumberEnv:
    """A game in which the hidden number is known."""
    env = GuessTheNumberEnv(**kwargs)
    env.reset(seed=0)
    state = env.get_state()
    state["episode"]["number"] = number
    env.set_state(state)
    return env


def guess(env: GuessTheNumberEnv, number: int | str) -> tuple[str, float, bool, bool, dict[str, Any]]:
    return env.step(f"\\boxed{{{number}}}")


def test_hints_lead_to_the_number() -> None:
    """A miss is worth nothing and tells the direction; the number ends the game with 1.0."""
    env = hiding(7, min_number=1, max_number=10)
    assert "higher than 3" in guess(env, 3)[0]
    assert "lower than 9" in guess(env, 9)[0]
    _, reward, terminated, truncated, info = guess(env, 7)
    assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)


@pytest.mark.parametrize("bad", [0, 11, "9" * 5000, "00000000000"])
def test_a_guess_outside_the_range_is_illegal(bad: int | str) -> None:
    """It costs a turn, gives no hint and no reward. Zero is a number like any other (the original refused it)."""
    _, reward, terminated, _, info = guess(hiding(7, min_number=1, max_number=10), bad)
    assert (reward, terminated, info["action_status"]) == (0.0, False, "illegal")


def test_a_repeated_guess_is_illegal() -> None:
    """It costs a turn and gives no hint."""
    env = hiding(7)
    guess(env, 3)
    observation, reward, _, _, info = guess(env, 3)
    assert "before" in observation
    assert (reward, info["action_status"]) == (0.0, "illegal")


def test_the_last_of_several_boxes_counts() -> None:
    """Earlier boxes are thinking aloud."""
    observation = hiding(7).step("\\boxed{3}? No: \\boxed{9}, or \\boxed{x}")[0]
    assert "lower than 9" in observation


def test_the_last_turn_pays_for_closeness() -> None:
    """A new guess in the range earns 1 - distance / span when the turns run out."""
    env = hiding(7, min_number=1, max_number=11, max_turns=2)
    guess(env, 1)
    _, reward, terminated, truncated, info = guess(env, 9)
    assert reward == pytest.approx(1 - 2 / 10)
    assert (terminated, truncated, info["success"]) == (True, True, False)


@pytest.mark.parametrize("last", [5, 99])
def test_the_last_turn_pays_nothing_for_an_illegal_guess(last: int) -> None:
    """Neither a repeated guess (which the original paid for) nor one outside the range earns closeness."""
    env = hiding(7, min_number=1, max_number=11, max_turns=2)
    guess(env, 5)
    assert guess(env, last)[1:4] == (0.0, True, True)


def test_the_number_on_the_last_turn_is_a_win() -> None:
    """Winning is not truncated, whatever the turn."""
    assert guess(hiding(7, max_turns=1), 7)[1:4] == (1.0, True, False)


def test_a_malformed_action_ends_the_game() -> None:
    """No box: -0.1 and the end; truncated only where it was the last turn."""
    assert hiding(7).step("seven")[1:4] == (-0.1, True, False)
    assert hiding(7, max_turns=1).step("seven")[1:4] == (-0.1, True, True)


def test_drawn_ranges_stay_within_the_documented_bounds() -> None:
    """The lowest number is 1 … 10, the span 5 … 50, and the turns fit the span."""
    env = gem.make("game:GuessTheNumber-v0-random")
    seen = set()
    for seed in range(200):
        env.reset(seed=seed)
        inner: Any = env.unwrapped
        span = inner.max_number - inner.min_number
        assert 1 <= inner.min_number <= 10
        assert 5 <= span <= 50
        assert inner.max_turns == math.ceil(math.sqrt(span)) + 1
        seen.add((inner.min_number, span))
    assert len(seen) > 100


def test_every_number_is_drawn() -> None:
    """Both ends of the range occur, and nothing outside it."""
    env = GuessTheNumberEnv(min_number=3, max_number=6)
    drawn = set()
    for seed in range(100):
        env.reset(seed=seed)
        drawn.add(env.get_state()["episode"]["number"])
    assert drawn == {3, 4, 5, 6}


def test_the_lowest_number_is_not_negative() -> None:
    """Zero can be hidden; a bound below it is an error that names the bound."""
    assert GuessTheNumberEnv(min_number=0, max_number=1).min_number == 0
    with pytest.raises(ArgumentError, match="min_number"):
        GuessTheNumberEnv(min_number=-1, max_number=1)


def test_half_a_range_cannot_be_drawn() -> None:
    """The bounds belong together; the message says so."""
    with pytest.raises(ArgumentError, match="drawn together"):
        GuessTheNumberEnv(min_number="random", max_number=5)


def test_a_state_of_another_game_length_is_refused() -> None:
    """The turn limit is part of the arguments, so a state with another one does not fit."""
    env = hiding(7, max_turns=3)
    with pytest.raises(StateError, match="max_turns is 3, not 4"):
        env.set_state(hiding(7, max_turns=4).get_state())


@pytest.mark.parametrize("number", range(1, 51))
def test_the_policy_needs_no_more_than_the_logarithm(number: int) -> None:
    """Binary search finds every number of 1 … 50 within ⌈log₂ 51⌉ = 6 guesses."""
    env = hiding(number, min_number=1, max_number=50, max_turns=6)
    policy = GuessTheNumberPolicy()
    observation, info = env.reset(seed=0)
    policy.reset(observation, info)
    state = env.get_state()
    state["episode"]["number"] = number
    env.set_state(state)
    reward, done = 0.0, False
    while not done:
        observation, reward, done, _, info = env.step(policy.act(observation, info))
    assert reward == 1.0
