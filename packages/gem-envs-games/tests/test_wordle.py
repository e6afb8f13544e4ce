"""Wordle: marks, rewards, secrets, and the policy."""

from __future__ import annotations

import re
from collections import Counter
from string import ascii_uppercase
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused_states import assert_refused

from gem.errors import ArgumentError, ArgumentTypeError
from gem_envs_games.wordle import WordleEnv, WordlePolicy
from gem_envs_games.wordle_solver import feedback, next_guess
from gem_envs_games.words import words

VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "easy": {"word_length": 3, "only_real_words": True, "max_turns": 15},
    "hard": {"word_length": 5, "only_real_words": True, "max_turns": 25},
    "random": {"word_length": "random", "only_real_words": True, "max_turns": "random"},
    "random letters": {"word_length": "random", "only_real_words": False, "max_turns": "random"},
    "longest": {"word_length": 10, "only_real_words": False, "max_turns": "random"},
}

few_letters = st.text("ABC", min_size=5, max_size=5)  # few, so that they repeat and meet


def game(secret: str, *guesses: str, max_turns: int = 20) -> WordleEnv:
    """A game with a known secret in which some guesses were made."""
    env = WordleEnv(word_length=len(secret), max_turns=max_turns)
    env.reset(seed=0)
    state = env.get_state()
    state["episode"].update(secret=secret)
    env.set_state(state)
    for guess in guesses:
        env.step(f"\\boxed{{{guess}}}")
    return env


def play(env: WordleEnv, seed: int) -> float:
    """The policy's return."""
    policy = WordlePolicy()
    observation, info = env.reset(seed=seed)
    policy.reset(observation, info)
    total, done = 0.0, False
    while not done:
        observation, reward, done, _, info = env.step(policy.act(observation, info))
        total += reward
    return total


@pytest.mark.parametrize(
    ("guess", "secret", "marks"),
    [
        ("CRANE", "CRANE", "G G G G G"),
        ("CLOUD", "CRANE", "G X X X X"),
        ("NACRE", "CRANE", "Y Y Y Y G"),
        ("SPEED", "ERASE", "Y X Y Y X"),
        ("EERIE", "THESE", "Y X X X G"),
        ("ALLOY", "LABEL", "Y Y Y X X"),
        ("LLAMA", "LABEL", "G Y Y X X"),
    ],
)
def test_marks_of_well_known_cases(guess: str, secret: str, marks: str) -> None:
    """Repeated letters are marked G first, then Y from left to right as often as the secret still has them."""
    assert feedback(guess, secret) == marks


@given(guess=few_letters, secret=few_letters)
def test_marks_count_each_letter_as_often_as_both_have_it(guess: str, secret: str) -> None:
    """G is exactly where the letters agree; G and Y together are as many as guess and secret share of a letter."""
    marks = feedback(guess, secret).split(" ")
    assert [mark == "G" for mark in marks] == [a == b for a, b in zip(guess, secret, strict=True)]
    found = Counter(letter for letter, mark in zip(guess, marks, strict=True) if mark != "X")
    assert found == Counter(guess) & Counter(secret)
    for letter in "ABC":
        misplaced = "".join(m for a, m in zip(guess, marks, strict=True) if a == letter and m != "G")
        assert "XY" not in misplaced


def test_each_place_pays_when_it_is_green_for_the_first_time() -> None:
    """A new green place pays 0.5 / length, an old one nothing, and the word all that is left."""
    env = game("CRANE")
    rewards = [env.step(f"\\boxed{{{guess}}}")[1] for guess in ("cigar", "crepe", "nacre", "zzzzz", "crane")]
    assert rewards == pytest.approx([0.1, 0.2, 0.0, 0.0, 0.7])
    assert sum(rewards) == 1.0


@given(secret=st.text("ABC", min_size=3, max_size=10), data=st.data())
def test_a_won_game_totals_exactly_one(secret: str, data: st.DataObject) -> None:
    """Whatever was guessed before, the rewards of a won game sum to 1.0 without rounding errors."""
    texts = st.text("ABC", min_size=len(secret), max_size=len(secret))
    guesses = data.draw(st.lists(texts.filter(lambda guess: guess != secret), max_size=8))
    env = game(secret)
    total = 0.0
    for guess in guesses:
        _, reward, terminated, _, _ = env.step(f"\\boxed{{{guess}}}")
        assert not terminated
        total += reward
    _, reward, terminated, truncated, info = env.step(f"\\boxed{{{secret}}}")
    assert (total + reward, terminated, truncated, info["success"]) == (1.0, True, False, True)


def test_blanks_and_case_do_not_matter_and_any_letters_will_do() -> None:
    """Letters may be apart and of either case, and need not make a word."""
    env = game("CRANE")
    for text in ("c r a t e", "C\n\tR  AVe", "ZZZZZ"):
        _, _, terminated, _, info = env.step(f"I say \\boxed{{{text}}}.")
        assert (terminated, info["action_status"]) == (False, "legal")
    observation, *_ = env.step("\\boxed{xxxxx}")
    assert "C R A T E\nG G G X G\nC R A V E\nG G G X G\nZ Z Z Z Z\nX X X X X\nX X X X X\n" in observation


@pytest.mark.parametrize("text", ["cra", "cranes", "c", "a b c", "crate", "C r A t E"])
def test_wrong_length_and_repetition_are_illegal(text: str) -> None:
    """A guess of another length, blanks not counted, or made before pays 0.0, takes a turn and is not on the board."""
    env = game("CRANE", "crate")
    observation, reward, terminated, truncated, info = env.step(f"\\boxed{{{text}}}")
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info == {"turn": 2, "action_status": "illegal"}
    assert observation.count("\n") == 3


@pytest.mark.parametrize("text", ["", " crane", "crane ", "cr4ne", "ſtone", "crüne", "cra-ne"])
def test_anything_but_letters_is_malformed(text: str) -> None:
    """Only a-z and blanks between them are a guess; anything else ends the game with the format penalty."""
    _, reward, terminated, _, info = game("CRANE").step(f"\\boxed{{{text}}}")
    assert (reward, terminated, info["action_status"]) == (-0.1, True, "malformed")


def test_the_last_turn_keeps_its_reward() -> None:
    """When the turns run out, the last guess still pays for its green letters, and the game is truncated too."""
    _, reward, terminated, truncated, info = game("CRANE", "zzzzz", max_turns=2).step("\\boxed{crazy}")
    assert reward == pytest.approx(0.3)
    assert (terminated, truncated, info["success"]) == (True, True, False)
    assert game("CRANE", "zzzzz", max_turns=2).step("\\boxed{crane}")[1:4] == (1.0, True, False)


def test_only_real_words_is_obeyed() -> None:
    """Real words come from the everyday list; otherwise the secret is random letters, and the agent is told which."""
    listed = {word.upper() for word in words(5, False)}
    for real in (True, False):
        env = WordleEnv(word_length=5, only_real_words=real)
        secrets = set()
        for seed in range(200):
            observation, _ = env.reset(seed=seed)
            secrets.add(env.get_state()["episode"]["secret"])
            assert ("everyday English word" in observation) == real
            assert ("random letters" in observation) != real
        assert len(secrets) > 100
        assert (secrets <= listed) == real
        assert {letter for secret in secrets for letter in secret} >= set("ABCDEFGHIKLMNOPRSTUVWY")


def test_random_actions_are_words_where_the_secret_is_one() -> None:
    """Elsewhere they are any letters, which spell a word only by accident."""
    for only_real_words, least, most in ((True, 40, 40), (False, 0, 10)):
        env = WordleEnv(word_length=5, only_real_words=only_real_words)
        env.reset(seed=0)
        guesses = [env.sample_random_action().removeprefix("\\boxed{").removesuffix("}") for _ in range(40)]
        assert all(re.fullmatch("[A-Z]{5}", guess) for guess in guesses)
        assert least <= sum(guess.lower() in words(5, False) for guess in guesses) <= most


def test_random_lengths_bring_five_turns_a_letter() -> None:
    """word_length and max_turns drawn at every reset are 3, 4 or 5 and five times that, and the agent is told."""
    env = WordleEnv(word_length="random", max_turns="random")
    seen = set()
    for seed in range(50):
        observation, _ = env.reset(seed=seed)
        assert f"{env.word_length} letters long. Find it within {5 * env.word_length} turns." in observation
        seen.add(env.word_length)
    assert seen == {3, 4, 5}
    fixed = WordleEnv(word_length="random", max_turns=7)
    fixed.reset(seed=0)
    assert fixed.max_turns == 7


@pytest.mark.parametrize(
    ("kwargs", "error"),
    [
        ({"word_length": 2}, ArgumentError),
        ({"word_length": 11}, ArgumentError),
        ({"word_length": "5"}, ArgumentTypeError),
        ({"max_turns": 0}, ArgumentError),
        ({"only_real_words": 1}, ArgumentTypeError),
        ({"hardcore": True}, ArgumentTypeError),
    ],
)
def test_impossible_arguments_are_refused(kwargs: dict[str, Any], error: type[Exception]) -> None:
    """Lengths without words, no turns, wrong types and unknown names raise GEM errors."""
    with pytest.raises(error):
        WordleEnv(**kwargs)


@pytest.mark.parametrize(
    "damage",
    [
        {"secret": "crane"},
        {"secret": "CR"},
        {"secret": "A" * 11},
        {"secret": 7},
        {"guesses": ["CRATE", "CRATE"]},
        {"guesses": ["CRANE", "CRATE"]},
        {"guesses": ["CRA"]},
        {"guesses": ["CR4TE"]},
        {"guesses": [None]},
        {"guesses": 5},
        {"max_turns": 0},
    ],
)
def test_impossible_states_are_refused(damage: dict[str, Any]) -> None:
    """A state with a secret or a guess that no game has raises StateError and changes nothing."""
    env = game("CRANE", "crate")
    assert_refused(env, damage)


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_policy_wins(variant: str) -> None:
    """The reference policy finds real words and random letters alike, within the turns."""
    env = WordleEnv(**VARIANTS[variant])
    assert [play(env, seed) for seed in range(10)] == [1.0] * 10


@given(secret=st.text(ascii_uppercase, min_size=3, max_size=10), few=st.text("AB", min_size=3, max_size=10))
def test_the_letter_search_finds_any_string(secret: str, few: str) -> None:
    """Without a list of words, the solver finds every string of letters within five guesses a letter."""
    for hidden in (secret, few):
        history: tuple[tuple[str, str], ...] = ()
        while (guess := next_guess(history, len(hidden), ())) != hidden:
            assert guess not in dict(history)
            history = (*history, (guess, feedback(guess, hidden)))
        assert len(history) < 5 * len(hidden)


def test_the_policy_copes_with_a_word_that_is_not_in_its_list() -> None:
    """When no listed word fits the marks, the policy goes on to search all strings of letters."""
    env, policy = game("ZQXJV", max_turns=25), WordlePolicy()
    policy.reset("I have chosen an everyday English word, 5 letters long", {})
    observation, total, done = "", 0.0, False
    while not done:
        observation, reward, done, *_ = env.step(policy.act(observation, {}))
        total += reward
    assert total == 1.0
