r"""Declared forms of actions: each reads the move out of an action's text, and samples random actions.

=====================  =====================================================  ===================
form                   a well-formed action ends, for example, in             what ``read`` returns
=====================  =====================================================  ===================
:class:`BoxedChoice`   ``\boxed{left}``                                       str, as declared
:class:`BoxedNumber`   ``\boxed{12}``                                         int
:class:`BoxedNumbers`  ``\boxed{3 12}``                                       tuple of ints
:class:`BoxedPattern`  ``\boxed{A C}``                                        re.Match
:class:`BoxedText`     ``\boxed{any text}``                                   str
=====================  =====================================================  ===================

If several boxes fit, the last one counts. Reading takes time linear in the length of the text. :class:`LenientForm`
makes any of them forgive what models often write.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from gem.errors import ArgumentError, NotSupportedError
from gem.text import action_text, boxed_pattern, extract_last_boxed_answer, spoken_text

__all__ = [
    "ActionForm",
    "BoxedChoice",
    "BoxedNumber",
    "BoxedNumbers",
    "BoxedPattern",
    "BoxedText",
    "LenientForm",
    "read_move",
]

MoveT = TypeVar("MoveT")
MoveT_co = TypeVar("MoveT_co", covariant=True)

_INTEGER = r"([+-]?\d{1,100})"  # leading zeros are allowed; int() itself refuses more than 4,300 digits
_SEPARATOR = r"(?:\s+|\s*,\s*)"

# A match stops at the next backslash, so that no two attempts read the same characters: linear.
_TEXT_COMMAND = re.compile(r"\\text\{([^{}\\]*)\}")
_PLAIN_BOX = re.compile(r"\\boxed\{([^{}\\]*)\}")
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ,", "abcdefghijklmnopqrstuvwxyz ")
"""Other alphabets stay as they are: the lower case of the Kelvin sign is the Latin letter k."""


class ActionForm(Protocol[MoveT_co]):
    """A way to write a move as text."""

    def read(self, text: str, /) -> MoveT_co | None:
        """Return the move in ``text``, or None if it has none in this form. Accept any str; raise nothing."""

    def sample(self, rng: random.Random, /) -> str:
        """Return the text of a random well-formed action."""


def read_move(form: ActionForm[MoveT_co], action: object) -> MoveT_co | None:
    """Return the move in an action of any kind, or None if it has none; see :func:`gem.text.action_text`."""
    return form.read(spoken_text(action_text(action) or ""))


class BoxedChoice:
    """One of several words, in upper or lower case.

    Args:
        words: at least one; ``read`` returns the word as it is written here.
    """

    def __init__(self, *words: str) -> None:
        if not words:
            raise ArgumentError("BoxedChoice needs at least one word")
        self.words = words
        self._by_key = {word.lower(): word for word in words}
        longest_first = sorted(map(re.escape, words), key=len, reverse=True)
        self._match = boxed_pattern(rf"\s*({'|'.join(longest_first)})\s*", re.IGNORECASE | re.ASCII).match

    def read(self, text: str, /) -> str | None:
        """Return the word in the last box that holds one."""
        match = self._match(text)
        return None if match is None else self._by_key[match[1].lower()]

    def sample(self, rng: random.Random, /) -> str:
        """Return one of the words in a box."""
        return f"\\boxed{{{rng.choice(self.words)}}}"


class BoxedNumbers:
    """Several whole numbers, separated by blanks or commas.

    Args:
        ranges: lowest and highest value of each number. A box with a number outside its range does not fit.
    """

    def __init__(self, *ranges: tuple[int, int]) -> None:
        if not ranges or any(low > high for low, high in ranges):
            raise ArgumentError(f"ranges must be pairs of a lowest and a highest number, got {ranges}")
        self.ranges = ranges
        self._match = boxed_pattern(rf"\s*{_SEPARATOR.join([_INTEGER] * len(ranges))}\s*", re.ASCII).match

    def read(self, text: str, /) -> tuple[int, ...] | None:
        """Return the numbers in the last box with the right count; None if one of them is out of its range."""
        match = self._match(text)
        if match is None:
            return None
        numbers = tuple(map(int, match.groups()))
        if all(low <= number <= high for number, (low, high) in zip(numbers, self.ranges, strict=True)):
            return numbers
        return None

    def sample(self, rng: random.Random, /) -> str:
        """Return numbers from the ranges in a box."""
        return f"\\boxed{{{' '.join(str(rng.randint(low, high)) for low, high in self.ranges)}}}"


class BoxedNumber:
    """A whole number from ``low`` to ``high``. A box with a number outside the range does not fit."""

    def __init__(self, low: int, high: int) -> None:
        self._numbers = BoxedNumbers((low, high))

    def read(self, text: str, /) -> int | None:
        """Return the number in the last box that holds one; None if it is out of the range."""
        numbers = self._numbers.read(text)
        return None if numbers is None else numbers[0]

    def sample(self, rng: random.Random, /) -> str:
        """Return a number from the range in a box."""
        return self._numbers.sample(rng)


class BoxedPattern:
    """Text that matches a regular expression.

    Args:
        inner: the expression; see :func:`gem.text.boxed_pattern` for its two restrictions.
        flags: the flags of :func:`re.compile`.
        examples: texts that fit, without their boxes; random actions are drawn from them. An environment without
            examples overrides ``_random_action``.
    """

    read: Callable[[str], re.Match[str] | None]
    """Returns the match of the last box that fits, with the groups of ``inner``."""

    def __init__(self, inner: str, flags: int = 0, *, examples: tuple[str, ...] = ()) -> None:
        self.read = boxed_pattern(inner, flags).match
        self.examples = examples

    def sample(self, rng: random.Random, /) -> str:
        """Return one of the examples in a box."""
        return _boxed_example(rng, self.examples)


class BoxedText:
    """Any text; braces in it must balance.

    Args:
        examples: as in :class:`BoxedPattern`.
    """

    def __init__(self, *examples: str) -> None:
        self.examples = examples

    def read(self, text: str, /) -> str | None:
        """Return the content of the last box without surrounding space; None if it is empty."""
        return extract_last_boxed_answer(text) or None

    def sample(self, rng: random.Random, /) -> str:
        """Return one of the examples in a box."""
        return _boxed_example(rng, self.examples)


class LenientForm(Generic[MoveT]):
    r"""Another form, read with forgiveness: ``\boxed{ \text{Reveal} 1, 2 }`` counts as ``\boxed{reveal 1 2}``.

    In each box, ``\text{…}`` stands for its content. Unless ``free_text``, the letters A to Z are read in lower case, a
    comma as a blank, several blanks as one, and those at the ends are dropped. If several boxes fit then, the last one
    counts.

    Args:
        form: a form that takes lower-case letters and single blanks between the parts of a move.
        free_text: the content of a box is any text, as for :class:`BoxedText`, in which commas and capitals matter.
    """

    def __init__(self, form: ActionForm[MoveT], free_text: bool = False) -> None:
        self.form = form
        self._free_text = free_text

    def read(self, text: str, /) -> MoveT | None:
        """Return the move in the last box that fits."""
        text = _TEXT_COMMAND.sub(r"\1", text)
        return self.form.read(text if self._free_text else _PLAIN_BOX.sub(_tidied, text))

    def sample(self, rng: random.Random, /) -> str:
        """Return a sample of the other form."""
        return self.form.sample(rng)


def _tidied(box: re.Match[str]) -> str:
    return f"\\boxed{{{' '.join(box[1].translate(_LOWER).split())}}}"


def _boxed_example(rng: random.Random, examples: tuple[str, ...]) -> str:
    if not examples:
        raise NotSupportedError("the form of the action has no examples; give it some, or override _random_action")
    return f"\\boxed{{{rng.choice(examples)}}}"
