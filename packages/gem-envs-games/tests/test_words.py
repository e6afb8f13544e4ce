"""The word lists."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import gem_envs_games
from gem_envs_games.words import LONGEST, SHORTEST, all_words, words

LISTS = [False, True]


@pytest.mark.parametrize("hardcore", LISTS)
def test_a_list_is_sorted_lower_case_and_without_repetitions(hardcore: bool) -> None:
    """Both lists hold each word once, in alphabetical order, in a-z only, 3 to 10 letters long."""
    listed = all_words(hardcore)
    assert list(listed) == sorted(set(listed))
    assert all(word.isascii() and word.isalpha() and word.islower() for word in listed)
    assert {len(word) for word in listed} == set(range(SHORTEST, LONGEST + 1))


@pytest.mark.parametrize(("length", "least"), [(3, 120), (4, 250), (5, 250), (6, 150), (7, 200), (8, 100), (10, 50)])
def test_everyday_words_are_enough_for_varied_games(length: int, least: int) -> None:
    """Every length that a variant uses has hundreds of everyday words (of three letters, over 120)."""
    assert len(words(length, False)) >= least


@pytest.mark.parametrize("hardcore", LISTS)
def test_words_of_all_lengths_make_up_the_list(hardcore: bool) -> None:
    """words() splits all_words() by length, and has nothing outside the lengths of the lists."""
    split = [word for length in range(SHORTEST, LONGEST + 1) for word in words(length, hardcore)]
    assert sorted(split) == list(all_words(hardcore))
    assert words(SHORTEST - 1, hardcore) == words(LONGEST + 1, hardcore) == ()


def test_the_dictionary_is_large_and_its_file_is_not() -> None:
    """The dictionary has over 90,000 words in less than 900 kB."""
    assert len(all_words(True)) > 90_000
    assert Path(gem_envs_games.__file__).with_name("data").joinpath("dictionary_words.txt").stat().st_size < 900_000


def test_importing_the_games_reads_no_list() -> None:
    """The lists are read when a game first needs a word, and then once."""
    script = (
        "from gem_envs_games import hangman, word_search, wordle, words\n"
        "games = [hangman.HangmanEnv(), word_search.WordSearchEnv(), wordle.WordleEnv()]\n"
        "assert words.all_words.cache_info().misses == 0\n"
        "for game in games * 2: game.reset(seed=0)\n"
        "assert words.all_words.cache_info().misses == 1\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_threads_share_one_list() -> None:
    """Threads that ask at once all get the same words."""
    all_words.cache_clear()
    with ThreadPoolExecutor(16) as pool:
        lists = list(pool.map(lambda _: all_words(False), range(64)))
    assert len(set(lists)) == 1
