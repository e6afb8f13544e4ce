"""The protocol of graders: :class:`Grader`, which compares an answer with a gold answer or says that it could not.

Graders are found by name through the hook ``gem_graders``: ``math``, ``qa`` and ``code``, as far as their packages are
installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from gem.errors import ArgumentError

__all__ = ["VERDICTS", "GoldReading", "GradeResult", "Grader", "Verdict", "graders", "make_grader"]

Verdict = Literal["same", "different", "unreadable"]

VERDICTS: tuple[Verdict, ...] = ("same", "different", "unreadable")

_PROVIDERS: Mapping[str, str] = {"math": "gem-envs-math", "qa": "gem-envs-qa", "code": "gem-envs-code"}


@dataclass(frozen=True)
class GradeResult:
    """The verdict on an answer, and the part of the grader that reached it.

    ``"different"`` means that both sides were read and differ; ``"unreadable"`` that the grader could not tell.

    Raises:
        ArgumentError: if ``verdict`` is none of the three words.
    """

    verdict: Verdict
    how: str
    """A word for the part that decided; each grader documents its own."""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ArgumentError(f"a verdict is one of {', '.join(map(repr, VERDICTS))}, got {self.verdict!r:.80}")

    @property
    def correct(self) -> bool:
        """Whether the answer is right: the verdict is ``"same"``."""
        return self.verdict == "same"

    @property
    def readable(self) -> bool:
        """Whether the grader could tell."""
        return self.verdict != "unreadable"

    def __bool__(self) -> bool:
        return self.correct


@dataclass(frozen=True)
class GoldReading:
    """How a grader reads a gold answer."""

    text: str
    """One line for people: the gold as the grader understands it."""
    kind: str
    """A word for tables: ``"number"``, ``"set"``, ``"text"``, ``"functions"`` …; each grader has its own."""
    readable: bool
    """Whether the grader can compare answers with it. Answers to a gold that it cannot read are mostly unreadable."""


@runtime_checkable
class Grader(Protocol):
    """Compares answers with gold answers; safe from any thread. Neither method raises, whatever it is given."""

    def read(self, gold: Any, question: str | None = None) -> GoldReading:
        """Return how the grader reads a gold answer.

        Args:
            gold: the gold answer, as a data set holds it.
            question: the question, for graders that take it into account.
        """
        ...

    def grade(self, answer: Any, gold: Any, question: str | None = None) -> GradeResult:
        """Compare an answer with a gold answer.

        Args:
            answer: the answer alone: the content of the box, of the tag, or of the fenced block.
            gold: as for :meth:`read`.
            question: as for :meth:`read`.
        """
        ...


def graders() -> list[str]:
    """Return the names of the installed graders, sorted."""
    from gem import plugins

    return sorted(plugins.names("gem_graders"))


def make_grader(name: str) -> Grader:
    """Return the grader of a name.

    Raises:
        MissingPluginError: if no installed package offers it; the message names the package that does, if there is one.
        ArgumentError: if what the package offers is no :class:`Grader`.
    """
    from gem import plugins
    from gem.arguments import string

    made = plugins.lookup("gem_graders", string("name", name), "grader", _PROVIDERS)()
    if not isinstance(made, Grader):
        raise ArgumentError(f"the grader {name!r} is a {type(made).__name__}, which lacks the methods read and grade")
    return made
