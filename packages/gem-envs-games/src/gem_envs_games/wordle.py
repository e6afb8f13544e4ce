r"""Wordle: find a hidden word; each guess is answered with a mark for every letter.

Rewards: each position that a guess gets right for the first time pays ``0.5 / word_length``, and the word itself
adds the rest, so that a won game totals 1.0. A guess may be any letters, a word or not.

In the original, ``only_real_words`` was ignored; here ``False`` hides a string of random letters. Real words come
from this package's own list of everyday words.
"""

from __future__ import annotations

import re
from itertools import starmap
from typing import Any, Literal

from gem.action_forms import BoxedPattern
from gem.arguments import boolean, integer
from gem.core import Info
from gem.counts import counted
from gem.policies import Policy
from gem.text_env import MAX_TURNS, MoveResult, illegal, legal, success
from gem_envs_games.game import Game, is_drawn, share
from gem_envs_games.wordle_solver import feedback, next_guess
from gem_envs_games.words import LONGEST, SHORTEST, words

__all__ = ["WordleEnv", "WordlePolicy"]

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DRAWN_LENGTHS = (3, 4, 5)
_TURNS_PER_LETTER = 5
_SECRET = re.compile(f"[A-Z]{{{SHORTEST},{LONGEST}}}")


class WordleEnv(Game[re.Match[str]]):
    r"""Guess a word with ``\boxed{word}``, in capitals or not; blanks between its letters do not matter.

    Args:
        word_length: letters of the word, 3 … 10. ``"random"``: drawn at every reset from 3, 4 and 5.
        only_real_words: hide an everyday English word, otherwise random letters.
        max_turns: guesses that the instructions announce. ``"random"``: five for each letter.
        lenient: also take capitals, extra blanks, commas and LaTeX text; see :class:`gem_envs_games.game.Game`.
    """

    # One run of letters and blanks, so that a match needs linear time; the first and the last are letters.
    form = BoxedPattern(r"([a-zA-Z][a-zA-Z\s]*)(?<!\s)")

    def __init__(
        self,
        word_length: int | Literal["random"] | None = 4,
        only_real_words: bool = True,
        max_turns: int | Literal["random"] | None = 20,
        lenient: bool = False,
    ) -> None:
        self._set_lenient(lenient)
        self._drawn = is_drawn(("word_length",), (word_length,))
        self._turns_drawn = is_drawn(("max_turns",), (max_turns,))
        self.only_real_words = boolean("only_real_words", only_real_words)
        if not self._drawn:
            self._set_length(integer("word_length", word_length, minimum=SHORTEST, maximum=LONGEST))
        if not self._turns_drawn:
            self.max_turns = integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS)

    def _set_length(self, length: int) -> None:
        self.word_length = length
        self.request = f"Enter your guess of {length} letters."

    def _begin(self) -> None:
        if self._drawn:
            self._set_length(self.rng.choice(_DRAWN_LENGTHS))
        if self._turns_drawn:
            self.max_turns = _TURNS_PER_LETTER * self.word_length
        if self.only_real_words:
            secret = self.rng.choice(words(self.word_length, False)).upper()
        else:
            secret = "".join(self.rng.choices(_ALPHABET, k=self.word_length))
        self._hide(secret)

    def _hide(self, secret: str) -> None:
        self._secret = secret
        self._guesses: dict[str, str] = {}  # with their marks
        self._rows = ""
        self._green: set[int] = set()  # places

    def _instructions(self) -> str:
        length = self.word_length
        kind = "an everyday English word" if self.only_real_words else "a string of random letters"
        example = words(length, False)[0].upper() if self.only_real_words else _ALPHABET[:length]
        return (
            f"You are playing Wordle. I have chosen {kind}, {length} letters long. "
            f"Find it within {counted(self.max_turns, 'turn')}.\n"
            "Under each letter of your guess I put a mark:\n"
            "G: the letter is in the right place.\n"
            "Y: the letter occurs in another place.\n"
            "X: the letter does not occur, or not more often than it is marked G or Y in this guess.\n"
            f"A guess is any {length} letters that you have not guessed before; they need not make a word. "
            f"Put it in \\boxed{{}}, for example \\boxed{{{example}}}."
        )

    def _board(self) -> str:
        return self._rows

    def _play(self, move: re.Match[str]) -> MoveResult:
        guess = "".join(move[1].split()).upper()
        if len(guess) != self.word_length:
            return illegal(f"That guess has {len(guess)} letters instead of {self.word_length}.")
        if guess in self._guesses:
            return illegal(f"You have guessed {guess} before.")
        marks = self._guesses[guess] = feedback(guess, self._secret)
        row = _row(guess, marks)
        self._rows = f"{self._rows}\n{row}" if self._rows else row
        if guess == self._secret:
            return success(f"{guess} is the answer.", 1.0 - self._paid())
        return legal(f"{guess} is not the answer.", self._pay(marks) if "G" in marks else 0.0)

    def _pay(self, marks: str) -> float:
        """Note the green places and return the reward of the new ones."""
        before = self._paid()
        self._green.update([place for place, mark in enumerate(marks.split()) if mark == "G"])
        return self._paid() - before

    def _paid(self) -> float:
        return 0.5 * share(len(self._green), self.word_length)

    def _random_move(self) -> str:
        if self.only_real_words:
            return self.action_rng.choice(words(self.word_length, False)).upper()
        return "".join(self.action_rng.choices(_ALPHABET, k=self.word_length))

    def _save(self) -> dict[str, Any]:
        return {"secret": self._secret, "guesses": list(self._guesses), "max_turns": self.max_turns}

    def _load(self, episode: dict[str, Any]) -> None:
        secret, guesses = episode["secret"], episode["guesses"]
        if not _SECRET.fullmatch(secret):
            raise ValueError(f"not a secret: {secret!r}")
        self.max_turns = integer("max_turns", episode["max_turns"], minimum=1, maximum=MAX_TURNS)
        self._set_length(len(secret))
        self._hide(secret)
        for guess in guesses:
            possible = _SECRET.fullmatch(guess) and len(guess) == len(secret)
            if not possible or guess in self._guesses or secret in self._guesses:
                raise ValueError(f"not a guess that could have been made: {guess!r}")
            self._guesses[guess] = feedback(guess, secret)
            self._pay(self._guesses[guess])
        self._rows = "\n".join(starmap(_row, self._guesses.items()))


class WordlePolicy(Policy[str, str]):
    """Makes the guess that minimises the expected number of words; searches all strings of letters if no word fits."""

    _SECRET = re.compile(r"I have chosen (an everyday English word|a string of random letters), (\d+) letters long")
    _ROW = re.compile(r"^([A-Z](?: [A-Z])+)\n([GYX](?: [GYX])+)$", re.MULTILINE)

    def reset(self, observation: str, info: Info) -> None:
        match = self._SECRET.search(observation)
        assert match is not None, observation
        length = int(match[2])
        self._length = length
        self._words = tuple(word.upper() for word in words(length, False)) if "word" in match[1] else ()

    def act(self, observation: str, info: Info) -> str:
        history = tuple((row[1].replace(" ", ""), row[2]) for row in self._ROW.finditer(observation))
        return f"\\boxed{{{next_guess(history, self._length, self._words)}}}"


def _row(guess: str, marks: str) -> str:
    """Return a guess on the board, each letter above its mark."""
    return f"{' '.join(guess)}\n{marks}"
