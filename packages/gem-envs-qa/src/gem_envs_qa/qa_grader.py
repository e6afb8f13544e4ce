"""The grader ``qa`` of the hook ``gem_graders``: short answers and options, as in :mod:`gem_envs_qa.grading`."""

from __future__ import annotations

from typing import Any

from gem.errors import DatasetError
from gem_envs_qa.grading import is_too_long, scores, words_of
from gem_envs_qa.instructions import check_instructions
from gem_questions.rewards import GoldReading, GradeResult
from gem_questions.schemas import ChoiceGold, InstructionGold, qa_golds

__all__ = ["QaGrader"]


class QaGrader:
    """Compares short answers.

    ``how`` of a result is ``"exact_match"``, ``"too_long"`` (an answer that is far longer than the right ones), or
    ``"no_gold"`` (nothing is right, so the verdict is ``"unreadable"``).
    """

    def read(self, gold: Any, question: str | None = None) -> GoldReading:
        """Return the right answers in a gold, in their normal form."""
        golds = _golds(gold)
        texts = list(dict.fromkeys(" ".join(words_of(text)) or text.strip() for text in golds))
        if isinstance(golds, InstructionGold):
            return GoldReading(", ".join(golds), "instructions", True)
        if isinstance(golds, ChoiceGold):
            return GoldReading(f"{golds.letter} of {', '.join(golds.options)}", "option", True)
        kind = "nothing" if not golds else "yes or no" if set(texts) <= {"yes", "no", "true", "false"} else "text"
        return GoldReading(" | ".join(texts), kind, bool(golds))

    def grade(self, answer: Any, gold: Any, question: str | None = None) -> GradeResult:
        """Compare an answer with the right ones, of which one must match."""
        golds = _golds(gold)
        if not golds:
            return GradeResult("unreadable", "no_gold")
        said = answer if isinstance(answer, str) else str(answer) if isinstance(answer, (int, float)) else ""
        if is_too_long(said, golds):
            return GradeResult("different", "too_long")
        return GradeResult("same" if scores(said, golds)[0] else "different", "exact_match")


def _golds(gold: Any) -> list[str]:
    try:
        golds = qa_golds({"answer": gold}, "answer")
        if isinstance(golds, InstructionGold):
            check_instructions(golds)
    except DatasetError:
        return []
    return golds
