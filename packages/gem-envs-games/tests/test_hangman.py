"""Hangman: letters, whole guesses, rewards, and the policy."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused_states import assert_refused

from gem.errors import ArgumentError, ArgumentTypeError
from gem_envs_games.hangman import HangmanEnv, HangmanPolicy
from gem_envs_games.words import words

VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "easy": {"word_length": 3, "hardcore": False, "max_turns": 10},
    "hard": {"word_length": 7, "hardcore": False, "max_turns": 20},
    "random": {"word_length": "random", "hardcore": False, "max_turns": "random"},
    "hardcore": {"word_length": 7, "hardcore": True, "max_turns": 20},
}


def game(word: str, *guesses: str, max_turns: int = 20, hardcore: bool = False) -> HangmanEnv:
    """A game with a known word in which some guesses were made."""
    env = HangmanEnv(word_length=len(word), max_turns=max_turns, hardcore=hardcore)
    env.reset(seed=0)
    state = env.get_state()
    state["episode"].update(word=word)
    env.set_state(state)
    for guess in guesses:
        env.step(f"\\boxed{{{guess}}}")
    return env


def finish(env: HangmanEnv, policy: HangmanPolicy, observation: str) -> tuple[float, int]:
    """Return and number of turns when the policy plays from here."""
    policy.reset(observation, {})
    total, turns, done = 0.0, 0, False
    while not done:
        observation, reward, done, _, _ = env.step(policy.act(observation, {}))
        total, turns = total + reward, turns + 1
    return total, turns


def test_a_letter_pays_for_every_place_where_it_occurs() -> None:
    """A letter of the word pays 0.5 * occurrences / length and is shown everywhere; another pays 0.0."""
    env = game("BANANA")
    observation, reward, terminated, *_ = env.step("\\boxed{a}")
    assert "Word: _ A _ A _ A\nNot in the word: nothing yet\n" in observation
    assert reward == pytest.approx(0.25)
    assert not terminated
    observation, reward, terminated, *_ = env.step("\\boxed{Z}")
    assert "Word: _ A _ A _ A\nNot in the word: Z\n" in observation
    assert (reward, terminated) == (0.0, False)


def test_the_last_letter_wins() -> None:
    """Uncovering the last hidden letter ends the game, won, and pays all that is left."""
    _, reward, terminated, truncated, info = game("BANANA", "a", "n").step("\\boxed{b}")
    assert reward == pytest.approx(1 - 0.5 * 5 / 6)
    assert (terminated, truncated, info["success"]) == (True, False, True)


def test_the_whole_word_wins_and_pays_for_what_is_hidden() -> None:
    """A right whole guess pays 0.5 plus 0.5 times the hidden fraction."""
    assert game("BANANA").step("\\boxed{Banana}")[1:4] == (1.0, True, False)
    observation, reward, terminated, _, info = game("BANANA", "a").step("\\boxed{banana}")
    assert reward == pytest.approx(0.75)
    assert (terminated, info["success"]) == (True, True)
    assert "Word: B A N A N A\n" in observation


@given(word=st.text("ABCD", min_size=3, max_size=10), order=st.permutations("ABCDEFG"), whole_at=st.integers(0, 7))
def test_a_won_game_totals_exactly_one(word: str, order: list[str], whole_at: int) -> None:
    """Letters in any order, with or without a whole guess at some point, sum to 1.0 without rounding errors."""
    env = game(word)
    total, done = 0.0, False
    for guess in [*order[:whole_at], word, *order[whole_at:]] if whole_at < 7 else order:
        _, reward, done, truncated, _ = env.step(f"\\boxed{{{guess}}}")
        total += reward
        if done:
            break
    assert (done, truncated, total) == (True, False, 1.0)


@pytest.mark.parametrize("text", ["a", "A", "z", "ab", "bananas", "batata", "BATATA"], ids=lambda text: f"guess {text}")
def test_repetitions_and_other_lengths_are_illegal(text: str) -> None:
    """A letter or a whole word guessed before, or a word of another length, pays 0.0 and takes a turn."""
    env = game("BANANA", "a", "z", "batata")
    before = env.get_state()["episode"]
    _, reward, terminated, truncated, info = env.step(f"\\boxed{{{text}}}")
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info == {"turn": 4, "action_status": "illegal"}
    assert env.get_state()["episode"] == before


def test_a_wrong_whole_guess_is_shown() -> None:
    """A wrong word of the right length pays 0.0 and is listed on the board."""
    observation, reward, terminated, _, info = game("BANANA").step("\\boxed{batata}")
    assert (reward, terminated, info["action_status"]) == (0.0, False, "legal")
    assert "Word: _ _ _ _ _ _\nNot in the word: nothing yet\nWrong words: BATATA\n" in observation


@pytest.mark.parametrize("text", ["", " a", "a b", "4", "é", "ſ", "\u212a", "ı"])
def test_anything_but_letters_is_malformed(text: str) -> None:
    """Only a-z in either case is a guess, not letters that merely fold to one of them."""
    _, reward, terminated, _, info = game("BANANA").step(f"\\boxed{{{text}}}")
    assert (reward, terminated, info["action_status"]) == (-0.1, True, "malformed")


def test_instructions_give_the_right_example_for_each_kind_of_guess() -> None:
    """The example of a letter is one letter, the example of a word has the word's length."""
    observation, _ = HangmanEnv(word_length=7).reset(seed=0)
    assert "one letter, for example \\boxed{E}" in observation
    assert "the whole word, for example \\boxed{ABILITY}" in observation


def test_the_last_turn_keeps_its_reward() -> None:
    """When the turns run out, the last letter still pays, and the game is truncated too."""
    _, reward, terminated, truncated, info = game("BANANA", "z", max_turns=2).step("\\boxed{n}")
    assert reward == pytest.approx(1 / 6)
    assert (terminated, truncated, info["success"]) == (True, True, False)
    assert game("BANANA", "a", "n", max_turns=3).step("\\boxed{b}")[2:4] == (True, False)


def test_random_lengths_and_turns_belong_together() -> None:
    """Drawn at every reset: 3 letters with 10 turns, 5 with 15 or 7 with 20, and the agent is told."""
    env = HangmanEnv(word_length="random", max_turns="random")
    seen = set()
    for seed in range(50):
        observation, _ = env.reset(seed=seed)
        assert f"a word of {env.word_length} letters" in observation
        assert f"within {env.max_turns} turns" in observation
        seen.add((env.word_length, env.max_turns))
    assert seen == {(3, 10), (5, 15), (7, 20)}


@pytest.mark.parametrize("hardcore", [False, True])
def test_words_come_from_the_list_that_was_asked_for(hardcore: bool) -> None:
    """With hardcore, words come from the dictionary, otherwise they are everyday ones, and the agent is told."""
    env = HangmanEnv(word_length=6, hardcore=hardcore)
    drawn = set()
    for seed in range(100):
        observation, _ = env.reset(seed=seed)
        drawn.add(env.get_state()["episode"]["word"].lower())
        assert ("uncommon" in observation) == hardcore
    assert drawn <= set(words(6, hardcore))
    assert len(drawn) > 60


@pytest.mark.parametrize(
    ("kwargs", "error"),
    [
        ({"word_length": 2}, ArgumentError),
        ({"word_length": 11}, ArgumentError),
        ({"word_length": 5.0}, ArgumentTypeError),
        ({"max_turns": -1}, ArgumentError),
        ({"hardcore": "yes"}, ArgumentTypeError),
        ({"only_real_words": True}, ArgumentTypeError),
    ],
)
def test_impossible_arguments_are_refused(kwargs: dict[str, Any], error: type[Exception]) -> None:
    """Lengths without words, no turns, wrong types and unknown names raise GEM errors."""
    with pytest.raises(error):
        HangmanEnv(**kwargs)


@pytest.mark.parametrize(
    "damage",
    [
        {"word": "banana"},
        {"word": "BA"},
        {"word": ["BANANA"]},
        {"guesses": ["A", "A"]},
        {"guesses": ["BANANA", "Z"]},
        {"guesses": ["A", "B", "N", "Z"]},
        {"guesses": ["a"]},
        {"guesses": ["BAN"]},
        {"guesses": [1]},
        {"guesses": None},
        {"max_turns": "random"},
    ],
)
def test_impossible_states_are_refused(damage: dict[str, Any]) -> None:
    """A state with a word or a guess that no game has raises StateError and changes nothing."""
    env = game("BANANA", "z")
    assert_refused(env, damage)


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_policy_wins(variant: str) -> None:
    """The reference policy wins on every variant, and with dictionary words of seven letters too."""
    env = HangmanEnv(**VARIANTS[variant])
    returns = [finish(env, HangmanPolicy(), env.reset(seed=seed)[0])[0] for seed in range(10)]
    assert returns == [1.0] * 10


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize(("length", "turns"), [(3, 10), (5, 15), pytest.param(7, 20, marks=pytest.mark.nightly)])
def test_every_everyday_word_can_be_won_in_time(length: int, turns: int) -> None:
    """No word of a standard variant needs more turns than it has, when the policy plays."""
    opening, _ = HangmanEnv(word_length=length).reset(seed=0)
    needed = {word: finish(game(word.upper()), HangmanPolicy(), opening)[1] for word in words(length, False)}
    assert {word: count for word, count in needed.items() if count > turns} == {}


def test_the_policy_copes_with_a_word_that_is_not_in_its_list() -> None:
    """When no listed word fits, the policy tries the remaining letters by their frequency."""
    env = game("XYZZY", max_turns=30)
    opening, _ = HangmanEnv(word_length=5).reset(seed=0)
    assert finish(env, HangmanPolicy(), opening)[0] == 1.0
