"""WordSearch: grids, what cells pay, and the policy."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused_states import assert_refused

from gem.errors import ArgumentError, ArgumentTypeError
from gem_envs_games.word_search import WordSearchEnv, WordSearchPolicy, find_word, hide_words
from gem_envs_games.words import all_words

VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "easy": {"num_words": 5, "max_turns": 20, "hardcore": False},
    "hard": {"num_words": 5, "max_turns": 20, "hardcore": True},
    "random": {"num_words": "random", "max_turns": "random", "hardcore": "random"},
    "one": {"num_words": 1, "max_turns": 1},
    "most": {"num_words": 50, "max_turns": 50, "hardcore": True},
}

# CAT is in row 0 and, backwards and by chance, in row 4; DOG is in column 1.
GRID = ["CATXX", "XDXXX", "XOXXX", "XGXXX", "XXTAC"]


def game(*moves: str, words: tuple[str, ...] = ("CAT", "DOG"), max_turns: int = 20) -> WordSearchEnv:
    """A game with a known grid in which some moves were made."""
    env = WordSearchEnv(max_turns=max_turns)
    env.reset(seed=0)
    state = env.get_state()
    state["episode"].update(grid=GRID, words=list(words))
    env.set_state(state)
    for move in moves:
        env.step(f"\\boxed{{{move}}}")
    return env


def play(env: WordSearchEnv, seed: int) -> list[float]:
    """The policy's rewards."""
    policy = WordSearchPolicy()
    observation, info = env.reset(seed=seed)
    policy.reset(observation, info)
    rewards, done = [], False
    while not done:
        observation, reward, done, _, info = env.step(policy.act(observation, info))
        rewards.append(reward)
    return rewards


@pytest.mark.parametrize("move", ["0 0 0 2", "0 2 0 0", "4 4 4 2", "4 2 4 4", "1 1 3 1", "3 1 1 1", " 0  0\n0\t2"[1:]])
def test_a_word_counts_wherever_it_stands_and_in_either_direction(move: str) -> None:
    """Cells that spell a word, forwards or backwards, where it was put or by chance elsewhere, pay 1 / words."""
    _, reward, terminated, _, info = game().step(f"\\boxed{{{move}}}")
    assert (reward, terminated, info["action_status"]) == (0.5, False, "legal")


def test_a_word_pays_once() -> None:
    """Neither the same cells in the other order nor another place of a found word pays again."""
    env = game("0 0 0 2")
    for move, status in (("0 2 0 0", "illegal"), ("0 0 0 2", "illegal"), ("4 4 4 2", "legal"), ("4 2 4 4", "illegal")):
        _, reward, terminated, _, info = env.step(f"\\boxed{{{move}}}")
        assert (reward, terminated, info["action_status"]) == (0.0, False, status)


def test_the_last_word_wins() -> None:
    """The game ends, won and not truncated, with the last word; also on the last turn."""
    _, reward, terminated, truncated, info = game("0 0 0 2", max_turns=2).step("\\boxed{1 1 3 1}")
    assert (reward, terminated, truncated, info["success"]) == (0.5, True, False, True)


def test_the_turn_limit_keeps_the_reward() -> None:
    """A word that is found on the last turn pays, and the game is truncated when another is left."""
    _, reward, terminated, truncated, info = game("0 0 0 1", max_turns=2).step("\\boxed{1 1 3 1}")
    assert (reward, terminated, truncated, info["success"]) == (0.5, True, True, False)


@pytest.mark.parametrize(
    ("move", "status"),
    [
        ("0 0 2 2", "illegal"),  # diagonal
        ("0 0 1 2", "illegal"),
        ("0 0 0 5", "illegal"),
        ("5 0 0 0", "illegal"),
        ("0 0 0 " + "9" * 5000, "illegal"),
        ("0 0 0 " + "0" * 50 + "3", "legal"),
        ("0 0 0 3", "legal"),  # no word
        ("0 0 0 0", "legal"),
        ("٠ ٠ ٠ ٣", "legal"),
    ],
)
def test_what_pays_nothing_lets_the_game_go_on(move: str, status: str) -> None:
    """Diagonals and cells outside the grid are illegal, cells without a word are a legal miss; all pay 0.0."""
    _, reward, terminated, _, info = game().step(f"\\boxed{{{move}}}")
    assert (reward, terminated, info) == (0.0, False, {"turn": 1, "action_status": status})


@pytest.mark.parametrize("text", ["0 0 0", "0 0 0 2 ", "0,0,0,2", "[0 0 0 2]", "-1 0 0 2", "a b c d"])
def test_anything_but_four_numbers_is_malformed(text: str) -> None:
    """Four numbers with blanks between them are a guess; anything else ends the game with the format penalty."""
    _, reward, terminated, _, info = game().step(f"\\boxed{{{text}}}")
    assert (reward, terminated, info["action_status"]) == (-0.1, True, "malformed")


def test_the_board_shows_the_grid_the_words_and_what_was_found() -> None:
    """Found words and their cells are in brackets, and nothing else is."""
    assert game().step("\\boxed{0 0 0 0}")[0].splitlines()[1:9] == [
        "    0  1  2  3  4",
        " 0  C  A  T  X  X",
        " 1  X  D  X  X  X",
        " 2  X  O  X  X  X",
        " 3  X  G  X  X  X",
        " 4  X  X  T  A  C",
        "Words: CAT, DOG",
        "Found: 0 of 2",
    ]
    assert game().step("\\boxed{3 1 1 1}")[0].splitlines()[1:9] == [
        "    0  1  2  3  4",
        " 0  C  A  T  X  X",
        " 1  X [D] X  X  X",
        " 2  X [O] X  X  X",
        " 3  X [G] X  X  X",
        " 4  X  X  T  A  C",
        "Words: CAT, [DOG]",
        "Found: 1 of 2",
    ]


@given(seed=st.integers(0, 10**6), num_words=st.integers(1, 50), hardcore=st.booleans())
def test_every_word_is_in_the_grid_and_none_is_part_of_another(seed: int, num_words: int, hardcore: bool) -> None:
    """A grid is a square of capitals that holds all its words, which differ even when read backwards."""
    env = WordSearchEnv(num_words=num_words, hardcore=hardcore)
    env.reset(seed=seed)
    episode = env.get_state()["episode"]
    rows, words = episode["grid"], episode["words"]
    assert all(len(row) == len(rows) and row.isascii() and row.isupper() for row in rows)
    assert len(words) == num_words
    assert {word.lower() for word in words} <= set(all_words(hardcore))
    for word in words:
        assert find_word(rows, word) is not None
        assert not any(word in other or word[::-1] in other for other in words if other is not word)


@given(
    seed=st.integers(0, 10**6),
    words=st.lists(st.text("AB", min_size=3, max_size=10), min_size=1, max_size=50, unique=True),
)
def test_any_words_can_be_hidden(seed: int, words: list[str]) -> None:
    """However many words there are, a grid is found that has room for all of them."""
    rows = hide_words(random.Random(seed), words)
    assert all(find_word(rows, word) for word in words)
    assert len(rows) < 60


def test_words_lie_both_ways_and_everywhere() -> None:
    """Over many grids, words start in every row and every column, across and down."""
    spans = [find_word(hide_words(random.Random(seed), ["ABCDEFGH", "ZYX"]), "ABCDEFGH") for seed in range(300)]
    across = [span for span in spans if span and span[0] == span[2]]
    down = [span for span in spans if span and span[1] == span[3]]
    assert min(len(across), len(down)) > 100
    assert {span[0] for span in across} == {span[1] for span in down} == set(range(12))
    assert {span[1] for span in across} == {span[0] for span in down} == set(range(5))


@pytest.mark.parametrize(("num_words", "turns"), [("random", 20), (7, 28)])
def test_random_turns_are_four_a_word(num_words: Any, turns: int) -> None:
    """max_turns drawn by itself is four times the words; a drawn number of words is five."""
    env = WordSearchEnv(num_words=num_words, max_turns="random")
    observation, _ = env.reset(seed=1)
    assert env.max_turns == turns
    assert f"{turns // 4} everyday English words are hidden" in observation
    assert f"within {turns} turns" in observation


def test_hardcore_can_be_drawn_at_every_reset() -> None:
    """With hardcore drawn, both kinds of words turn up, and the agent is told which."""
    env = WordSearchEnv(hardcore="random")
    kinds = set()
    for seed in range(20):
        observation, _ = env.reset(seed=seed)
        assert ("5 uncommon English words" in observation) == env.hardcore
        kinds.add(env.hardcore)
    assert kinds == {False, True}


@pytest.mark.parametrize(
    ("kwargs", "error"),
    [
        ({"num_words": 0}, ArgumentError),
        ({"num_words": 51}, ArgumentError),
        ({"num_words": 10**100}, ArgumentError),
        ({"num_words": True}, ArgumentTypeError),
        ({"max_turns": 0}, ArgumentError),
        ({"hardcore": "sometimes"}, ArgumentTypeError),
        ({"num_word": 3}, ArgumentTypeError),
    ],
)
def test_impossible_arguments_are_refused(kwargs: dict[str, Any], error: type[Exception]) -> None:
    """Numbers of words that make no sensible grid, wrong types and unknown names raise GEM errors."""
    with pytest.raises(error):
        WordSearchEnv(**kwargs)


@pytest.mark.parametrize(
    "damage",
    [
        {"grid": []},
        {"grid": GRID[:4]},
        {"grid": [*GRID[:4], "xxtac"]},
        {"grid": "CATXX"},
        {"grid": None},
        {"words": []},
        {"words": ["CAT", "CAT"]},
        {"words": ["CAT", "COW"]},
        {"words": ["CAT", 5]},
        {"tried": [[0, 0, 0]]},
        {"tried": [[0, 0, 0, 5]]},
        {"tried": [[0, 0, 2, 2]]},
        {"tried": [[0, 2, 0, 0]]},
        {"tried": [[0, 0, 0, 2], [0, 0, 0, 2]]},
        {"tried": [[0, 0, 0, 2], [1, 1, 3, 1], [0, 0, 0, 1]]},
        {"tried": [5]},
        {"hardcore": 1},
        {"max_turns": 0},
    ],
)
def test_impossible_states_are_refused(damage: dict[str, Any]) -> None:
    """A state with a grid, words or guesses that no game has raises StateError and changes nothing."""
    env = game("0 0 0 2")
    assert_refused(env, damage)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_policy_finds_every_word_at_once(variant: str) -> None:
    """The reference policy needs one turn a word, and its rewards sum to exactly 1.0."""
    env = WordSearchEnv(**VARIANTS[variant])
    for seed in range(30):
        rewards = play(env, seed)
        assert len(rewards) == env.num_words
        assert sum(rewards) == 1.0
        assert rewards == pytest.approx([1 / env.num_words] * env.num_words)
