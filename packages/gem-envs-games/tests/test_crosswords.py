"""Crosswords: its clues, its layouts, its rules, its rewards and its policy."""

from __future__ import annotations

import re
from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused_states import assert_refused

from gem.errors import ArgumentError, ArgumentTypeError
from gem_envs_games.crossword_clues import LONGEST, SHORTEST, answers, clues
from gem_envs_games.crossword_layout import Place, lay_out
from gem_envs_games.crosswords import CrosswordsEnv, CrosswordsPolicy, draw_answers, fewest_letters

VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "easy": {"hardcore": False, "max_turns": 30, "num_words": 3},
    "hard": {"hardcore": True, "max_turns": 40, "num_words": 3},
    "random": {"hardcore": "random", "max_turns": "random", "num_words": "random"},
    "many": {"hardcore": True, "max_turns": 300, "num_words": 30},
}

Cell = tuple[int, int]


def begun(max_turns: int = 30, filled: tuple[Cell, ...] = ()) -> CrosswordsEnv:
    """A game with CAT across from row 0, column 0, and TEN down from row 0, column 2."""
    env = CrosswordsEnv(max_turns=max_turns, num_words=2)
    env.reset(seed=0)
    state = env.get_state()
    state["episode"]["slots"] = [["CAT", "Pet that purrs", 0, 0, False], ["TEN", "Five plus five", 0, 2, True]]
    state["episode"]["filled"] = [list(cell) for cell in filled]
    env.set_state(state)
    return env


def cells_of(word: str, place: Place) -> list[Cell]:
    row, column, down = place
    return [(row + i, column) if down else (row, column + i) for i in range(len(word))]


def runs(letters: dict[Cell, str]) -> list[tuple[str, Place]]:
    """Every string of two or more letters that can be read in the grid, across or down, with its place."""
    found = []
    for row, column in letters:
        for down, (rows, columns) in ((False, (0, 1)), (True, (1, 0))):
            if (row - rows, column - columns) in letters:
                continue
            length = 0
            while (row + rows * length, column + columns * length) in letters:
                length += 1
            if length > 1:
                read = "".join(letters[row + rows * i, column + columns * i] for i in range(length))
                found.append((read, (row, column, down)))
    return found


words_in_grid = st.lists(st.text("ABCDE", min_size=3, max_size=8), min_size=1, max_size=12, unique=True)


@given(words_in_grid, st.integers(0, 10**6))
def test_only_the_words_can_be_read_in_the_grid(words: list[str], seed: int) -> None:
    """No two words touch but where they cross, with one letter: what can be read is the words, each at its place."""
    places = lay_out(Random(seed), words)
    letters: dict[Cell, str] = {}
    for word, place in zip(words, places, strict=True):
        for cell, letter in zip(cells_of(word, place), word, strict=True):
            assert letters.setdefault(cell, letter) == letter
    assert Counter(runs(letters)) == Counter(zip(words, places, strict=True))
    assert min(row for row, _ in letters) == 0
    assert min(column for _, column in letters) == 0


def test_words_cross_where_they_can() -> None:
    """Three words that share a letter always hang together, and both directions begin."""
    first = set()
    for seed in range(100):
        words = ["CAT", "TEN", "NEST"]
        places = lay_out(Random(seed), words)
        cells = [set(cells_of(word, place)) for word, place in zip(words, places, strict=True)]
        assert len(set.union(*cells)) == 10 - 2
        first.add(places[0][2])
    assert first == {False, True}


def test_words_without_a_common_letter_stand_apart() -> None:
    """A word that can cross no other still finds a place, and the grid stays compact."""
    words = ["AAA", "BBB", "CCC", "DDD", "EEE", "FFF"]
    for seed in range(20):
        places = lay_out(Random(seed), words)
        cells = {cell for word, place in zip(words, places, strict=True) for cell in cells_of(word, place)}
        assert len(cells) == 18
        assert max(max(cell) for cell in cells) <= 10


@pytest.mark.parametrize("hardcore", [False, True])
def test_every_answer_has_good_clues(hardcore: bool) -> None:
    """Enough answers, of 3 to 12 capitals, each with two or three clues in one line that do not hold it."""
    entries = clues(hardcore)
    assert len(entries) >= 60
    assert {len(answer) for answer in entries} <= set(range(SHORTEST, LONGEST + 1))
    for answer, given_clues in entries.items():
        assert re.fullmatch("[A-Z]+", answer)
        assert 2 <= len(given_clues) <= 3
        for clue in given_clues:
            assert answer.lower() not in clue.lower()
            assert clue.isprintable()
            assert clue == clue.strip()
            assert clue[0].isupper()
            assert len(clue) <= 100
            assert not clue.endswith(".")


def test_no_clue_and_no_answer_occurs_twice() -> None:
    """A clue belongs to one answer, an answer to one list."""
    every = [clue for hardcore in (False, True) for given_clues in clues(hardcore).values() for clue in given_clues]
    assert len(every) == len(set(every))
    assert not set(clues(False)) & set(clues(True))


@pytest.mark.parametrize("hardcore", [False, True])
def test_every_instance_can_be_solved_within_its_turns(hardcore: bool) -> None:
    """However few turns the constructor lets through, there are never more cells than turns."""
    for num_words in (1, 2, 3, 7, 30):
        fewest = fewest_letters(hardcore, num_words)
        for max_turns in (fewest, fewest + 1, fewest + 5, "random"):
            env = CrosswordsEnv(hardcore=hardcore, num_words=num_words, max_turns=max_turns)
            for seed in range(10):
                observation, _ = env.reset(seed=seed)
                match = re.search(r"Letters left: (\d+)", observation)
                assert match is not None
                assert int(match[1]) <= env.max_turns
                assert observation.count("letters): ") == num_words


def test_a_tight_budget_still_draws_long_words() -> None:
    """With 20 turns for three hard words, the answers differ and use the budget."""
    drawn = [draw_answers(Random(seed), True, 3, 20) for seed in range(300)]
    assert all(sum(map(len, words)) <= 20 for words in drawn)
    assert max(len(word) for words in drawn for word in words) == 10
    assert len({word for words in drawn for word in words}) > 40


def test_all_answers_and_clues_are_drawn() -> None:
    """No entry of the data is out of reach."""
    env, seen = CrosswordsEnv(), set()
    for seed in range(600):
        env.reset(seed=seed)
        seen |= {(slot[0], slot[1]) for slot in env.get_state()["episode"]["slots"]}
    assert {answer for answer, _ in seen} == set(answers(False))
    assert len(seen) > 0.9 * sum(map(len, clues(False).values()))


def test_the_observation_shows_grid_and_clues() -> None:
    """Rows and columns are numbered from 0; each clue tells where its word begins, which way, and how long it is."""
    env = begun()
    observation, *_ = env.step("\\boxed{1 2 e}")
    assert observation.splitlines() == [
        "Turn 1 of 30. E is right for row 1, column 2.",
        "   0  1  2",
        "0  _  _  _",
        "1  .  .  E",
        "2  .  .  _",
        "Across from row 0, column 0 (3 letters): Pet that purrs",
        "Down from row 0, column 2 (3 letters): Five plus five",
        "Letters left: 4",
        "Which letter is next?",
    ]


def test_wide_grids_keep_their_columns() -> None:
    """With two-digit row numbers, cells still stand under the last digit of their column's number."""
    env = CrosswordsEnv(**VARIANTS["many"])
    observation, _ = env.reset(seed=1)
    lines = [line for line in observation.splitlines() if re.match(r" *\d+  [_. ]+$| +0  1 ", line)]
    header, *rows = lines
    assert len({len(line) for line in lines}) == 1
    assert len(rows) > 10
    at = [match.end() - 1 for match in re.finditer(r"\d+", header)]
    for row in rows:
        number = re.match(r" *\d+", row)
        assert number is not None
        assert [place for place, char in enumerate(row) if char in "_." and place >= number.end()] == at


def test_each_letter_pays_once_and_all_make_one() -> None:
    """Five cells pay 0.2 each; the last one wins."""
    env = begun()
    moves = ["0 0 C", "0 0 c", "0 1 a", "0 2 T", "0 2 T", "2 2 n", "1 2 E"]
    results = [env.step(f"\\boxed{{{move}}}") for move in moves]
    assert [round(reward, 12) for _, reward, *_ in results] == [0.2, 0.0, 0.2, 0.2, 0.0, 0.2, 0.2]
    assert sum(reward for _, reward, *_ in results) == 1.0
    assert results[-1][2:] == (True, False, {"turn": 7, "action_status": "legal", "success": True})
    assert not any(result[2] for result in results[:-1])


@pytest.mark.parametrize(
    ("move", "status"),
    [
        ("0 0 X", "legal"),
        ("1 0 C", "illegal"),
        ("3 0 C", "illegal"),
        ("0 3 C", "illegal"),
        ("0 2 T", "illegal"),
        ("9" * 5000 + " 0 C", "illegal"),
        ("0 " + "9" * 5000 + " C", "illegal"),
    ],
)
def test_moves_that_earn_nothing(move: str, status: str) -> None:
    """A wrong letter is legal; a cell without a letter, outside the grid or filled is not. Nothing is written."""
    env = begun(filled=((0, 2),))
    before = env.get_state()["episode"]
    _, reward, terminated, _, info = env.step(f"\\boxed{{{move}}}")
    assert (reward, terminated, info["action_status"]) == (0.0, False, status)
    assert env.get_state()["episode"] == before


def test_cells_outside_the_grid_are_outside() -> None:
    """No row or column, however large, is taken for one of the grid."""
    env = CrosswordsEnv(hardcore=True, num_words=8, max_turns=100_000)
    observation, _ = env.reset(seed=0)
    rows = [row.split() for row in re.findall(r"^ *\d+((?:  [_.])+)$", observation, re.MULTILINE)]
    height, width = len(rows), len(rows[0])
    for row in range(60):
        for column in range(60):
            inside = row < height and column < width
            observation, *_, info = env.step(f"\\boxed{{{row} {column} Q}}")
            assert ("Rows are numbered" in observation) == (not inside)
            assert (info["action_status"] == "legal") == (inside and rows[row][column] == "_")


@pytest.mark.parametrize("text", ["\\boxed{[0 0 C]}", "\\boxed{0 0}", "\\boxed{0 0 CA}", "\\boxed{0 0 ſ}", "0 0 C"])
def test_other_formats_are_malformed(text: str) -> None:
    """Only two numbers and one ASCII letter in a box are a move."""
    _, reward, terminated, truncated, info = begun().step(text)
    assert (reward, terminated, truncated, info["action_status"]) == (-0.1, True, False, "malformed")


def test_the_turn_limit_terminates_and_truncates() -> None:
    """The last turn pays what it earns."""
    env = begun(max_turns=6)
    for _ in range(5):
        env.step("\\boxed{0 0 Z}")
    _, reward, terminated, truncated, info = env.step("\\boxed{0 0 C}")
    assert (round(reward, 12), terminated, truncated, info["success"]) == (0.2, True, True, False)


def test_random_draws_the_published_settings() -> None:
    """Three words and 20 turns, hardcore or not; each parameter can be random by itself."""
    env = CrosswordsEnv(hardcore="random", max_turns="random", num_words="random")
    seen = set()
    for seed in range(30):
        env.reset(seed=seed)
        seen.add((env.hardcore, env.max_turns, env.num_words))
    assert seen == {(False, 20, 3), (True, 20, 3)}
    assert CrosswordsEnv(max_turns=None, num_words=6).max_turns == 40
    assert CrosswordsEnv(hardcore=None, max_turns=40).num_words == 3


@pytest.mark.parametrize(
    "kwargs",
    [
        {"max_turns": 8},
        {"hardcore": True, "max_turns": 14},
        {"hardcore": "random", "max_turns": 14},
        {"num_words": 0},
        {"num_words": 31},
        {"hardcore": 1},
    ],
)
def test_impossible_arguments_are_refused(kwargs: dict[str, Any]) -> None:
    """Fewer turns than the shortest words have letters cannot be enough."""
    with pytest.raises((ArgumentError, ArgumentTypeError)):
        CrosswordsEnv(**kwargs)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", VARIANTS)
def test_policy_completes_every_grid(name: str) -> None:
    """The reference policy earns 1.0, reading only the last observation."""
    env, policy = CrosswordsEnv(**VARIANTS[name]), CrosswordsPolicy()
    for seed in range(30):
        observation, info = env.reset(seed=seed)
        policy.reset(observation, info)
        total, terminated = 0.0, False
        while not terminated:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            total += reward
            assert reward > 0
        assert (total, truncated, info["success"]) == (1.0, False, True)


@pytest.mark.parametrize(
    "change",
    [
        {"slots": []},
        {"slots": [["CAT", "Pet that purrs", 0, 0, False], ["DOG", "Pet that barks", 0, 0, True]]},
        {"slots": [["CAT", "Pet\nthat purrs", 0, 0, False]]},
        {"slots": [["CAT", "a" * 201, 0, 0, False]]},
        {"slots": [["cat", "Pet that purrs", 0, 0, False]]},
        {"slots": [["CAT", "Pet that purrs", -1, 0, False]]},
        {"slots": [["CAT", "Pet that purrs", 10**9, 0, False]]},
        {"slots": [["CAT", "Pet that purrs", 0, 0, 1]]},
        {"slots": [["CAT", "Pet that purrs", 0, 0, False]] * 31},
        {"filled": [[0, 3]]},
        {"filled": [[0, 0], [0, 0]]},
        {"filled": [[0.0, 0]]},
        {"filled": [[0]]},
        {"max_turns": 0},
        {"hardcore": "no"},
    ],
)
def test_impossible_states_are_refused(change: dict[str, Any]) -> None:
    """A state that no game reaches raises StateError and leaves the game as it was."""
    env = begun(filled=((0, 0),))
    assert_refused(env, change)
