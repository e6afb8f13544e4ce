"""Why a model scores what it scores: answers that were unreadable, cut off, empty or all the same, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gem_eval.runs.episode_row import EpisodeRow

__all__ = ["AnswerHealth", "examine_answers", "give_hints"]

_SHARE = 0.1
"""Share of turns or episodes from which a fault of the answers is worth a hint."""

_FEW = 8
"""Episodes below which equal answers prove nothing."""


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
    graded: int
    """Episodes with a grader's verdict."""

    def parts(self) -> Iterator[tuple[str, int, int]]:
        """Yield the name, the count and the denominator of each of them that is not 0."""
        for name, count, of in (
            ("malformed turns", self.malformed, self.turns),
            ("cut by token limit", self.cut, self.turns),
            ("empty after reasoning", self.empty, self.turns),
            ("context full", self.context_full, self.episodes),
            ("unreadable answers", self.unreadable, self.graded),
        ):
            if count:
                yield name, count, of
        if self.answered:
            yield "distinct answers", self.distinct, self.answered


def examine_answers(rows: Sequence[EpisodeRow]) -> AnswerHealth:
    """Return what became of the turns of these episodes."""
    answers = [row.answer for row in rows if row.answer is not None]
    return AnswerHealth(
        episodes=len(rows),
        turns=sum(row.turns for row in rows),
        malformed=sum(row.malformed for row in rows),
        cut=sum(row.cut for row in rows),
        empty=sum(row.empty for row in rows),
        context_full=sum(row.stop_reason == "context" for row in rows),
        answered=len(answers),
        distinct=len(set(answers)),
        unreadable=sum(row.grade == "unreadable" for row in rows),
        graded=sum(row.grade is not None for row in rows),
    )


def give_hints(health: AnswerHealth) -> Iterator[str]:
    """Yield, for each fault that is frequent, a sentence on what it is and what to do."""
    turns, episodes = health.turns, health.episodes
    if _is_frequent(health.malformed, turns):
        yield (
            f"{health.malformed} of {turns} turns were malformed: the environment could not read the action. Read one "
            "with 'gem view'; then state the format in the prompt, or take the environment's lenient argument where it "
            "has one"
        )
    if _is_frequent(health.cut, turns):
        yield f"{health.cut} of {turns} turns were cut by the limit of tokens; raise --max-tokens"
    if _is_frequent(health.empty, turns):
        yield (
            f"{health.empty} of {turns} turns were empty, as all their tokens went into reasoning; raise --max-tokens "
            "or have the model reason less"
        )
    if _is_frequent(health.context_full, episodes):
        yield (
            f"{health.context_full} of {episodes} episodes filled the model's context; serve the model with a longer "
            "one, or show less history with --wrappers"
        )
    if _is_frequent(health.unreadable, health.graded):
        yield (
            f"{health.unreadable} of {health.graded} answers were not in the form asked for, or the grader could not "
            "read them; they pay nothing and count as failures"
        )
    if health.answered >= _FEW and health.distinct == 1:
        yield (
            f"1 distinct answer of {health.answered}: every episode ended with the same action. The server may ignore "
            "the temperature, or the model the task"
        )


def _is_frequent(count: int, of: int) -> bool:
    return count > 0 and count >= _SHARE * of
