r"""Questions of a data set with short answers: ``qa:HotpotQA``, ``logic:RuleTaker-d3``, ``eval:TriviaQA`` and the like.

The answer is the content of the last ``<answer>…</answer>``, or with ``extract_boxed`` of the last ``\boxed{…}``; the
question states which. Prose is compared as in SQuAD, numbers as numbers, and of multiple choice the option; see
:mod:`gem_envs_qa.grading`. The reward is 1.0 or 0.0, or
with ``metric="f1"`` the share of right words; ``info`` has both: ``correct`` and ``f1``.

To a prompt of IFEval the whole response is the answer: 1.0 if it follows all instructions, or with ``metric="f1"`` the
share of them; ``info`` has ``followed`` and ``followed_loosely``, for each instruction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gem.arguments import boolean, choice, string
from gem.core import Action, Observation
from gem.errors import NotSupportedError
from gem.text import action_text, extract_last_boxed_answer, extract_last_tagged_answer
from gem_envs_qa.grading import is_too_long, scores
from gem_envs_qa.instructions import check_instructions, follows, follows_loosely
from gem_questions import Grade, QuestionEnv, open_dataset
from gem_questions.question import RowMap
from gem_questions.schemas import InstructionGold, RowContent, read_row

__all__ = ["EXACT_MATCH", "F1", "QaEnv", "ShortAnswerEnv", "extract_boxed"]

EXACT_MATCH, F1 = "exact_match", "f1"

_UPRIGHT = re.compile(r"\\(?:text(?:bf|it|rm|tt)?|math(?:bf|it|rm|tt))\{([^{}]*)\}")

_TAGGED = (
    "You may reason first, between <think> and </think>. Then give the answer alone, as short as it can be, between "
    "<answer> and </answer>."
)
_BOXED = "You may reason first. Then give the answer alone, as short as it can be, in \\boxed{}."


class ShortAnswerEnv(QuestionEnv):
    """The base of all questions with a short answer.

    A subclass defines ``text_of`` and ``golds``, and may set the other two attributes.
    """

    extract_boxed: bool = False
    metric: str = EXACT_MATCH

    def text_of(self, row: Mapping[str, Any]) -> str:
        """Return the question of a row."""
        raise NotImplementedError

    def golds(self, row: Mapping[str, Any]) -> Sequence[str]:
        """Return the right answers of a row, the plainest first."""
        raise NotImplementedError

    def question(self, row: Mapping[str, Any]) -> Observation:
        if isinstance(self.golds(row), InstructionGold):
            return self.text_of(row)  # the response itself is judged
        return f"{self.text_of(row)}\n\n{_BOXED if self.extract_boxed else _TAGGED}"

    def grade(self, action: Any, row: Mapping[str, Any]) -> Grade:
        golds = self.golds(row)
        if isinstance(golds, InstructionGold):
            return self._followed(action_text(action) or "", golds)
        answer = extract_boxed(action) if self.extract_boxed else extract_last_tagged_answer(action)
        if answer is None:
            return Grade(0.0, correct=False, well_formed=False, info={"f1": 0.0})
        if is_too_long(answer, golds):
            return Grade(0.0, correct=False, info={"f1": 0.0}, verdict="different")
        correct, shared = scores(answer, golds)
        paid = shared if self.metric == F1 else float(correct)
        return Grade(paid, correct, True, {"f1": shared}, "same" if correct else "different")

    def _followed(self, response: str, gold: InstructionGold) -> Grade:
        strict, loose = follows(response, gold), follows_loosely(response, gold)
        share = sum(strict) / len(strict)
        info = {"f1": share, "followed": strict, "followed_loosely": loose}
        paid = share if self.metric == F1 else float(all(strict))
        return Grade(paid, all(strict), True, info, "same" if all(strict) else "different")

    def reference_answer(self, row: Mapping[str, Any]) -> str:
        if isinstance(self.golds(row), InstructionGold):
            raise NotSupportedError("no reference answer is known to a prompt with instructions")
        answer = next(iter(self.golds(row)), "")
        return f"\\boxed{{{answer}}}" if self.extract_boxed else f"<answer>{answer}</answer>"


class QaEnv(ShortAnswerEnv):
    r"""One question of a data set per episode, with a short answer.

    Args:
        dataset_name: a data set's name on the Hugging Face hub, or a path.
        split: the split; None: ``"train"``.
        dataset: a path (parquet, jsonl, arrow, csv, or a folder of them) or rows, instead of ``dataset_name``.
        question_key: the column with the question. None: recognised, like the answer's; see
            :mod:`gem_questions.schemas`.
        answer_key: the column with the answer: text, a number, a list of accepted answers, or one of the objects in
            which SQuAD, TriviaQA and Natural Questions hold them.
        seed: seed of the order, until ``reset`` gives another.
        extract_boxed: read the answer from ``\boxed{…}``, not from ``<answer>…</answer>``.
        load_from_cache_file: without effect, accepted for compatibility with the original; without a conversion there
            is no cache.
        metric: metric of the reward, ``"exact_match"`` (as published) or ``"f1"``.
        eval: keep the order of the data set.
        streaming: read the set from front to back, for sets larger than memory; see :func:`gem_questions.open_rows`.
        map_row: a function from a row to a pair of question and answer, or to another row; see
            :class:`gem_questions.QuestionEnv`.

    Raises:
        DatasetError: if the set is unavailable, or a row has no question or no usable answer; the message names it.
    """

    def __init__(
        self,
        dataset_name: str | None = "",
        split: str | None = None,
        dataset: Any = None,
        question_key: str | None = None,
        answer_key: str | None = None,
        seed: int | None = None,
        extract_boxed: bool = False,
        load_from_cache_file: bool = True,
        metric: str = EXACT_MATCH,
        eval: bool = False,  # noqa: A002  # the name that the original's MathEnv has for it
        streaming: bool = False,
        map_row: RowMap | None = None,
    ) -> None:
        self.question_key = None if question_key is None else string("question_key", question_key)
        self.answer_key = None if answer_key is None else string("answer_key", answer_key)
        self._content: tuple[Mapping[str, Any], RowContent] | None = None
        self.extract_boxed = boolean("extract_boxed", extract_boxed)
        boolean("load_from_cache_file", load_from_cache_file)
        self.metric = choice("metric", metric, (EXACT_MATCH, F1))
        shuffle = not boolean("eval", eval)
        rows = open_dataset(dataset_name, split, dataset, streaming=streaming)
        super().__init__(rows, shuffle=shuffle, seed=seed, map_row=map_row)

    def content(self, row: Mapping[str, Any]) -> RowContent:
        """Return what a row says: its question and its right answers."""
        if self._content is None or self._content[0] is not row:
            content = read_row(row, "qa", self.question_key, self.answer_key)
            if isinstance(content.gold, InstructionGold):
                check_instructions(content.gold)
            self._content = row, content
        return self._content[1]

    def text_of(self, row: Mapping[str, Any]) -> str:
        return self.content(row).question.strip()

    def golds(self, row: Mapping[str, Any]) -> Sequence[str]:
        golds: Sequence[str] = self.content(row).gold
        return golds

    def check_row(self, row: Mapping[str, Any]) -> None:
        self.content(row)

    def sample_random_action(self) -> Action:
        if isinstance(self.golds(self.row), InstructionGold):
            words = self.text_of(self.row).split()
            return " ".join(self.action_rng.choices(words, k=self.action_rng.randint(1, 100)))
        return super().sample_random_action()


def extract_boxed(action: Any) -> str | None:
    r"""Return the content of the last ``\boxed{…}`` of an action, without LaTeX's ``\text{…}`` around it, or None."""
    answer = extract_last_boxed_answer(action)
    upright = None if answer is None else _UPRIGHT.fullmatch(answer)
    return answer if upright is None else upright[1].strip()
