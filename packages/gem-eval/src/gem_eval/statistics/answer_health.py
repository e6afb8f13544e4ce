"""Why a model scores what it scores: answers that were unreadable, cut off, empty or all the same, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gem_eval.runs.episode_row import EpisodeRow

__all__ = ["AnswerHealth", "Hint", "examine_answers", "give_hints", "joined_hints"]

_SHARE = 0.1
"""Share of turns or episodes from which a fault of the answers is worth a hint."""

_FEW = 8
"""Episodes below which equal answers prove nothing."""

_HINTS = {
    "malformed": (
        "turns {} were malformed: the environment could not read the action ('gem view' shows it). Show an example of "
        "the form with --system; where the environment has lenient=true, that forgives small departures from it"
    ),
    "cut": "turns {} were cut by the limit of tokens, before or after their answer; raise --max-tokens",
    "empty": (
        "turns {} were empty, as all their tokens went into reasoning; raise --max-tokens or have the model reason less"
    ),
    "context_full": (
        "episodes {} filled the model's context; serve the model with a longer one, or show less history with "
        "--wrappers"
    ),
    "misread": (
        "answers {} had the form asked for, but the grader could not read them; they pay nothing and count as "
        "failures. Check the questions with 'gem data check'"
    ),
    "equal": (
        "episodes {} ended with one and the same action; the server may ignore the temperature, or the model the task"
    ),
}
"""Fault → what is said of so many of so many turns or episodes, in the order in which the hints stand."""


@dataclass(frozen=True)
class Hint:
    """A fault of the answers that is frequent enough to decide a score."""

    fault: str
    """A key of the table of hints."""
    count: int
    of: int
    environments: int = 1
    """Environments that the counts are of."""

    def sentence(self, environments: int = 1) -> str:
        """Return what the fault is and what to do about it, for a run of so many environments."""
        where = f"in {self.environments} of {environments} environments " if self.environments < environments else ""
        return f"{self.count} of {self.of} {_HINTS[self.fault].replace('{} ', where)}"


@dataclass(frozen=True)
class AnswerHealth:
    """What became of the turns of a set of episodes. One turn may count in several."""

    episodes: int
    turns: int
    malformed: int
    """Turns whose action the environment could not read."""
    cut: int
    """Turns whose answer was cut by the limit of tokens."""
    empty: int
    """Turns whose tokens all went into reasoning."""
    context_full: int
    """Episodes that ended because the model's context was full."""
    answered: int
    """Episodes with at least one turn."""
    distinct: int
    """Different last actions among ``answered``."""
    unreadable: int
    """Episodes whose answer the grader could not read, or that gave none in the form asked for."""
    misread: int
    """Of ``unreadable``, those whose answer had the form."""

    def parts(self) -> Iterator[tuple[str, int, int]]:
        """Yield the name, the count and the denominator of each of them that is not 0."""
        for name, count, of in (
            ("malformed turns", self.malformed, self.turns),
            ("cut by token limit", self.cut, self.turns),
            ("empty after reasoning", self.empty, self.turns),
            ("context full", self.context_full, self.episodes),
            ("unreadable answers", self.unreadable, self.answered),
        ):
            if count:
                yield name, count, of
        if self.answered:
            yield "distinct answers", self.distinct, self.answered


def examine_answers(rows: Sequence[EpisodeRow]) -> AnswerHealth:
    """Return what became of the turns of these episodes."""
    answers = [row.answer for row in rows if row.answer is not None]
    unreadable = [row for row in rows if row.grade == "unreadable"]
    return AnswerHealth(
        episodes=len(rows),
        turns=sum(row.turns for row in rows),
        malformed=sum(row.malformed for row in rows),
        cut=sum(row.cut for row in rows),
        empty=sum(row.empty for row in rows),
        context_full=sum(row.stop_reason == "context" for row in rows),
        answered=len(answers),
        distinct=len(set(answers)),
        unreadable=len(unreadable),
        misread=sum(not row.malformed for row in unreadable),
    )


def give_hints(health: AnswerHealth) -> Iterator[Hint]:
    """Yield a hint for each fault that is frequent."""
    equal = health.answered if health.answered >= _FEW and health.distinct == 1 else 0
    for fault, count, of in (
        ("malformed", health.malformed, health.turns),
        ("cut", health.cut, health.turns),
        ("empty", health.empty, health.turns),
        ("context_full", health.context_full, health.episodes),
        ("misread", health.misread, health.answered),
        ("equal", equal, health.answered),
    ):
        if count > 0 and count >= _SHARE * of:
            yield Hint(fault, count, of)


def joined_hints(hints: Sequence[Hint]) -> list[Hint]:
    """Return the hints on several environments, those on one fault as one, with the sums of their counts."""
    by_fault = {fault: [hint for hint in hints if hint.fault == fault] for fault in _HINTS}
    return [
        Hint(
            fault,
            sum(hint.count for hint in same),
            sum(hint.of for hint in same),
            sum(hint.environments for hint in same),
        )
        for fault, same in by_fault.items()
        if same
    ]
