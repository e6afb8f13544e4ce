r"""Hangman: uncover a hidden word letter by letter, or guess it whole.

Rewards: a letter of the word pays ``0.5 * occurrences / word_length``; the word, guessed whole or uncovered by its
last letter, pays what is left, so that a won game totals 1.0. A whole guess thus pays
``0.5 + 0.5 * hidden letters / word_length``.

In the original, uncovering the last letter did not end the game, wrong whole guesses could be repeated, and the
instructions had the examples of the two kinds of guesses swapped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from gem.action_forms import BoxedPattern
from gem.arguments import boolean, integer
from gem.core import Info
from gem.counts import counted
from gem.policies import Policy
from gem.text_env import MAX_TURNS, MoveResult, illegal, legal, success
from gem_envs_games.game import Game, is_drawn, share
from gem_envs_games.words import LONGEST, SHORTEST, words

__all__ = ["HangmanEnv", "HangmanPolicy"]

_DRAWN_LENGTHS = (3, 5, 7)
_HIDDEN = "_"
_WORD = re.compile(f"[A-Z]{{{SHORTEST},{LONGEST}}}")
_LETTER = re.compile("[A-Z]")
_BY_FREQUENCY = "ETAOINSHRDLUCMFWYPVBGKJQXZ"  # letters of English text, the most frequent first


class HangmanEnv(Game[re.Match[str]]):
    r"""Guess a letter or the whole word with ``\boxed{…}``, in capitals or not.

    Args:
        word_length: letters of the word, 3 … 10. ``"random"``: drawn at every reset from 3, 5 and 7.
        hardcore: take the word from a large dictionary, otherwise from everyday English.
        max_turns: guesses that the instructions announce. ``"random"``: 10 for 3 letters, 15 for 5, 20 for 7.
        lenient: also take capitals, extra blanks, commas and LaTeX text; see :class:`gem_envs_games.game.Game`.
    """

    form = BoxedPattern(r"([a-z]+)", re.ASCII | re.IGNORECASE)
    request = "Guess a letter or the word."

    def __init__(
        self,
        word_length: int | Literal["random"] | None = 5,
        hardcore: bool = False,
        max_turns: int | Literal["random"] | None = 15,
        lenient: bool = False,
    ) -> None:
        self._set_lenient(lenient)
        self._drawn = is_drawn(("word_length",), (word_length,))
        self._turns_drawn = is_drawn(("max_turns",), (max_turns,))
        self.hardcore = boolean("hardcore", hardcore)
        if not self._drawn:
            self.word_length = integer("word_length", word_length, minimum=SHORTEST, maximum=LONGEST)
        if not self._turns_drawn:
            self.max_turns = integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS)

    def _begin(self) -> None:
        if self._drawn:
            self.word_length = self.rng.choice(_DRAWN_LENGTHS)
        if self._turns_drawn:
            self.max_turns = _enough_turns(self.word_length)
        self._hide(self.rng.choice(words(self.word_length, self.hardcore)).upper())

    def _hide(self, word: str) -> None:
        self._word = word
        self._shown = _HIDDEN * len(word)
        self._guesses: dict[str, None] = {}  # letters and words, in the order made
        self._missed_letters: list[str] = []
        self._missed_words: list[str] = []

    def _instructions(self) -> str:
        length = self.word_length
        kind = "an uncommon English dictionary" if self.hardcore else "everyday English"
        letter, word = "E", words(length, False)[0].upper()
        return (
            f"You are playing Hangman. I have chosen a word of {length} letters from {kind}. "
            f"Find it within {counted(self.max_turns, 'turn')}.\n"
            f"In each turn, guess one letter, for example \\boxed{{{letter}}}, and I show every place where it occurs; "
            f"or guess the whole word, for example \\boxed{{{word}}}. You win when the whole word is uncovered. "
            "Do not repeat a guess."
        )

    def _board(self) -> str:
        missed = " ".join(self._missed_letters) or "nothing yet"
        wrong_words = f"\nWrong words: {' '.join(self._missed_words)}" if self._missed_words else ""
        return f"Word: {' '.join(self._shown)}\nNot in the word: {missed}{wrong_words}"

    def _play(self, move: re.Match[str]) -> MoveResult:
        guess = move[1]
        if len(guess) > 1 and len(guess) != self.word_length:
            return illegal(f"Guess one letter or a word of {self.word_length} letters, not {len(guess)} letters.")
        guess = guess.upper()
        if guess in self._guesses:
            return illegal(f"You have guessed {guess} before.")
        return self._try(guess)

    def _try(self, guess: str) -> MoveResult:
        """Apply a new guess, a letter or a word of the right length."""
        self._guesses[guess] = None
        word = self._word
        if guess == word:
            paid = self._paid()
            self._shown = word
            return success(f"{guess} is the word.", 1.0 - paid)
        if len(guess) > 1:
            self._missed_words.append(guess)
            return legal(f"{guess} is not the word.")
        if guess not in word:
            self._missed_letters.append(guess)
            return legal(f"{guess} is not in the word.")
        paid, pairs = self._paid(), zip(word, self._shown, strict=True)
        self._shown = "".join([letter if letter == guess else shown for letter, shown in pairs])
        if _HIDDEN not in self._shown:
            return success(f"{guess} completes the word.", 1.0 - paid)
        return legal(f"{guess} is in the word.", self._paid() - paid)

    def _paid(self) -> float:
        """Return all rewards so far, in a game that is not won."""
        return 0.5 * share(len(self._word) - self._shown.count(_HIDDEN), len(self._word))

    def _random_move(self) -> str:
        new = [letter for letter in _BY_FREQUENCY if letter not in self._guesses]
        return self.action_rng.choice(new or _BY_FREQUENCY)

    def _save(self) -> dict[str, Any]:
        return {"word": self._word, "guesses": list(self._guesses), "max_turns": self.max_turns}

    def _load(self, episode: dict[str, Any]) -> None:
        word, guesses = episode["word"], episode["guesses"]
        if not _WORD.fullmatch(word):
            raise ValueError(f"not a word: {word!r}")
        self.max_turns = integer("max_turns", episode["max_turns"], minimum=1, maximum=MAX_TURNS)
        self.word_length = len(word)
        self._hide(word)
        for guess in guesses:
            possible = _LETTER.fullmatch(guess) or (_WORD.fullmatch(guess) and len(guess) == len(word))
            if not possible or guess in self._guesses or self._shown == word:
                raise ValueError(f"not a guess that could have been made: {guess!r}")
            self._try(guess)


class HangmanPolicy(Policy[str, str]):
    """Guesses the letter that minimises the expected number of words, and the word once at most two remain."""

    _GAME = re.compile(r"a word of (\d+) letters from (everyday|an uncommon)")
    _BOARD = re.compile(r"^Word: (.+)\nNot in the word: (.+)(?:\nWrong words: (.+))?", re.MULTILINE)

    def reset(self, observation: str, info: Info) -> None:
        match = self._GAME.search(observation)
        assert match is not None, observation
        self._words = [word.upper() for word in words(int(match[1]), match[2] != "everyday")]

    def act(self, observation: str, info: Info) -> str:
        board = self._BOARD.search(observation)
        assert board is not None, observation
        shown = board[1].replace(" ", "")
        tried = set(shown) - {_HIDDEN} | set(re.findall(r"\b[A-Z]\b", board[2]))
        wrong_words = (board[3] or "").split()
        other = f"[^{''.join(sorted(tried))}]" if tried else "."
        fits = re.compile(shown.replace(_HIDDEN, other)).fullmatch
        possible = [word for word in self._words if fits(word) and word not in wrong_words]
        if not possible:  # a word outside the lists
            return f"\\boxed{{{next(letter for letter in _BY_FREQUENCY if letter not in tried)}}}"
        return f"\\boxed{{{possible[0] if len(possible) <= 2 else _best_letter(possible, tried)}}}"


def _best_letter(possible: Sequence[str], tried: set[str]) -> str:
    """Return the letter that minimises the expected number of possible words; the most frequent one on a tie."""
    places: Counter[tuple[str, int]] = Counter()  # words by a letter and the bit mask of its places
    for word in possible:
        masks: dict[str, int] = {}
        for place, letter in enumerate(word):
            masks[letter] = masks.get(letter, 0) | 1 << place
        places.update(masks.items())
    present: Counter[str] = Counter()
    squares: Counter[str] = Counter()
    for (letter, _), size in places.items():
        present[letter] += size
        squares[letter] += size * size

    def remaining(letter: str) -> tuple[int, int, str]:
        absent = len(possible) - present[letter]
        return squares[letter] + absent * absent, absent, letter

    return min((letter for letter in present if letter not in tried), key=remaining)


def _enough_turns(length: int) -> int:
    # 10, 15 and 20 turns for 3, 5 and 7 letters, as in the original.
    return 5 * (length + 1) // 2
