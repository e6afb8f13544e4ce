"""Mastermind: its rules, its rewards, its action grammar and its policy."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused_states import assert_refused

from gem.errors import ArgumentError
from gem_envs_games.mastermind import MastermindEnv, MastermindPolicy
from gem_envs_games.mastermind_solver import next_guess, pegs

VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "easy": {"code_length": 2, "num_numbers": 6, "max_turns": 10, "duplicate_numbers": False},
    "hard": {"code_length": 4, "num_numbers": 8, "max_turns": 30, "duplicate_numbers": False},
    "random": {"code_length": "random", "num_numbers": "random", "max_turns": "random", "duplicate_numbers": False},
    "repeats": {"duplicate_numbers": True},
}


def begun(code: list[int], num_numbers: int = 6, max_turns: int = 20, repeats: bool = False) -> MastermindEnv:
    """A game in progress with a known code."""
    env = MastermindEnv(code_length=len(code), num_numbers=num_numbers, max_turns=max_turns, duplicate_numbers=repeats)
    env.reset(seed=0)
    state = env.get_state()
    state["episode"]["code"] = code
    env.set_state(state)
    return env


def guess(env: MastermindEnv, *numbers: object) -> tuple[str, float, bool, bool, dict[str, Any]]:
    return env.step(f"\\boxed{{{' '.join(map(str, numbers))}}}")


def counted_pegs(numbers: tuple[int, ...], code: tuple[int, ...]) -> tuple[int, int]:
    """The pegs by the definition: matches in place, and the rest of the multiset intersection."""
    black = sum(a == b for a, b in zip(numbers, code, strict=True))
    return black, (Counter(numbers) & Counter(code)).total() - black


codes = st.integers(1, 6).flatmap(lambda n: st.tuples(*[st.lists(st.integers(1, 4), min_size=n, max_size=n)] * 2))


@given(codes)
def test_pegs_follow_the_definition(pair: tuple[list[int], list[int]]) -> None:
    """Black pegs are matches in place; black and white together are what both share, repeats counted."""
    assert pegs(*pair) == counted_pegs(tuple(pair[0]), tuple(pair[1]))


def test_every_observation_lists_all_guesses() -> None:
    """The last observation alone shows each guess so far with its pegs."""
    env = begun([1, 2, 3, 4])
    guess(env, 4, 3, 2, 1)
    guess(env, 1, 2, 5, 5)
    observation, *_ = guess(env, 1, 3, 2, 4)
    assert observation.splitlines() == [
        "Turn 3 of 20. 1 3 2 4 is not the code.",
        "4 3 2 1: 0 black, 4 white",
        "1 2 5 5: 2 black, 0 white",
        "1 3 2 4: 2 black, 2 white",
        "Enter your next guess.",
    ]


def test_a_black_peg_pays_only_above_the_best_guess() -> None:
    """Rewards are the increments of the best number of black pegs; the code pays the rest."""
    env = begun([1, 2, 3, 4])
    rewards = [
        guess(env, *numbers)[1]
        for numbers in ([5, 5, 5, 5], [1, 2, 5, 5], [1, 5, 5, 5], [5, 5, 3, 4], [1, 2, 3, 5], [1, 2, 3, 4])
    ]
    assert rewards == [0.0, 0.5, 0.0, 0.0, 0.25, 0.25]


def test_winning_terminates_and_does_not_truncate() -> None:
    """The code ends the game with success, also on the last turn."""
    env = begun([1, 2], max_turns=1)
    observation, reward, terminated, truncated, info = guess(env, 1, 2)
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info == {"turn": 1, "action_status": "legal", "success": True}
    assert observation.endswith("You have won.")


def test_the_last_turn_keeps_its_reward() -> None:
    """Out of turns: terminated and truncated, and the last guess is paid like any other."""
    env = begun([1, 2], max_turns=1)
    assert guess(env, 1, 3)[1:4] == (0.5, True, True)


@pytest.mark.parametrize(
    "numbers", [(1, 2, 3), (1, 2, 3, 4, 5), (0, 1, 2, 3), (1, 2, 3, 7), (1, 2, 3, "9" * 5000), ("1" * 5000,)]
)
def test_guesses_of_wrong_length_or_range_are_illegal(numbers: tuple[object, ...]) -> None:
    """They cost a turn, earn nothing, and are not listed."""
    env = begun([1, 2, 3, 4])
    observation, reward, terminated, _, info = guess(env, *numbers)
    assert (reward, terminated, info["action_status"]) == (0.0, False, "illegal")
    assert "black" not in observation


def test_a_repeated_guess_is_illegal_however_it_is_written() -> None:
    """Leading zeros and other blanks do not make another guess."""
    env = begun([1, 2, 3, 4])
    assert guess(env, 1, 2, 5, 6)[1] == 0.5
    for again in ("\\boxed{1 2 5 6}", "\\boxed{01 2  5\n6}"):
        _, reward, _, _, info = env.step(again)
        assert (reward, info["action_status"]) == (0.0, "illegal")


def test_leading_zeros_do_not_matter() -> None:
    """01 is 1."""
    assert begun([1, 2, 3, 4]).step("\\boxed{01 002 3 4}")[1] == 1.0


def test_a_guess_may_repeat_numbers_though_the_code_does_not() -> None:
    """Repeats in a guess are legal, and each number of the code earns one peg at most."""
    env = begun([1, 2, 3, 4])
    observation, *_, info = guess(env, 4, 4, 4, 4)
    assert info["action_status"] == "legal"
    assert "4 4 4 4: 1 black, 0 white" in observation


@pytest.mark.parametrize("text", ["1 2 3 4", "\\boxed{1,2,3,4}", "\\boxed{ 1 2 3 4}", "\\boxed{1 2 3 4 }", "\\boxed{}"])
def test_other_formats_are_malformed(text: str) -> None:
    """Only numbers separated by blanks, in a box, are a guess."""
    _, reward, terminated, truncated, info = begun([1, 2, 3, 4]).step(text)
    assert (reward, terminated, truncated, info["action_status"]) == (-0.1, True, False, "malformed")


def test_the_last_box_that_is_a_guess_counts() -> None:
    """Earlier boxes and later boxes with other content are thinking aloud."""
    env = begun([1, 2])
    assert env.step("\\boxed{3 4} or rather \\boxed{1 2}, \\boxed{surely}")[1] == 1.0


@pytest.mark.parametrize("repeats", [False, True])
def test_codes_are_drawn_from_all_allowed_ones(repeats: bool) -> None:
    """Two numbers of three: every code that the rules allow occurs, and no other."""
    env = MastermindEnv(code_length=2, num_numbers=3, duplicate_numbers=repeats)
    seen = set()
    for seed in range(200):
        env.reset(seed=seed)
        seen.add(tuple(env.get_state()["episode"]["code"]))
    assert seen == {code for code in product((1, 2, 3), repeat=2) if repeats or code[0] != code[1]}


def test_random_draws_the_published_settings() -> None:
    """Length, numbers and turns are drawn together; the turns may be fixed, or drawn for a fixed board."""
    env, fixed = MastermindEnv("random", "random", "random"), MastermindEnv(None, None, 7)
    seen = set()
    for seed in range(50):
        env.reset(seed=seed)
        fixed.reset(seed=seed)
        seen.add((env.code_length, env.num_numbers, env.max_turns))
        assert fixed.max_turns == 7
    assert seen == {(2, 4, 10), (4, 6, 20), (4, 8, 30)}
    only_turns = MastermindEnv(3, 5, "random")
    only_turns.reset(seed=0)
    assert only_turns.max_turns == 15


@pytest.mark.parametrize(
    "kwargs", [{"code_length": 7}, {"code_length": "random"}, {"num_numbers": 1}, {"max_turns": 0}]
)
def test_impossible_arguments_are_refused(kwargs: dict[str, Any]) -> None:
    """No code of seven different numbers exists among six; drawn parameters belong together."""
    with pytest.raises(ArgumentError):
        MastermindEnv(**kwargs)


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_policy_wins_every_game(name: str) -> None:
    """The reference policy finds the code within the turns, reading only the last observation."""
    env, policy = MastermindEnv(**VARIANTS[name]), MastermindPolicy()
    for seed in range(10):
        observation, info = env.reset(seed=seed)
        policy.reset(observation, info)
        total, terminated = 0.0, False
        while not terminated:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            total += reward
        assert (total, truncated) == (1.0, False)


@pytest.mark.parametrize(("length", "numbers", "repeats"), [(6, 10, True), (8, 9, False), (40, 400, True)])
def test_guesses_stay_new_where_codes_cannot_be_listed(length: int, numbers: int, repeats: bool) -> None:
    """For large codes the search is bounded, and still no guess is made twice."""
    code = tuple(place % numbers + 1 for place in range(length))
    history: list[tuple[tuple[int, ...], tuple[int, int]]] = []
    for _ in range(5):
        guess = next_guess(history, length, numbers, repeats)
        assert guess not in {made for made, _ in history}
        assert len(guess) == length
        assert set(guess) <= set(range(1, numbers + 1))
        if guess == code:
            break
        history.append((guess, pegs(guess, code)))


def test_the_search_agrees_with_every_answer() -> None:
    """Where the search finds a code in time, that code would have got every answer so far."""
    code = (3, 3, 7, 1, 9, 10)
    history: list[tuple[tuple[int, ...], tuple[int, int]]] = []
    while not history or history[-1][0] != code:
        guess = next_guess(history, 6, 10, True)
        assert all(pegs(made, guess) == answer for made, answer in history)
        history.append((guess, pegs(guess, code)))
    assert len(history) <= 12


@pytest.mark.parametrize(
    "change",
    [
        {"code": [1, 1, 2, 3]},
        {"code": [1, 2, 3, 7]},
        {"code": []},
        {"code": [1] * 101},
        {"num_numbers": 1},
        {"num_numbers": 10**9},
        {"guesses": ["1 2 3"]},
        {"guesses": ["1 2 3 9"]},
        {"guesses": ["1 2 5 6", "1 2 5 6"]},
        {"guesses": ["01 2 5 6"]},
        {"guesses": ["1 2 3 4", "1 2 5 6"]},
        {"guesses": [5]},
        {"max_turns": 0},
    ],
)
def test_impossible_states_are_refused(change: dict[str, Any]) -> None:
    """A state that no game reaches raises StateError and leaves the game as it was."""
    env = begun([1, 2, 3, 4])
    guess(env, 1, 2, 5, 6)
    assert_refused(env, change)
