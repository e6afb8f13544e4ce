r"""Questions of a data set whose answers are mathematics: ``math:GSM8K``, ``eval:AIME24`` and the like.

The answer is the content of the last ``\boxed{…}``; :mod:`gem_envs_math.grader` compares it with the row's answer. The
reward is 1.0 for a right answer and 0.0 otherwise, or with ``use_format_error_reward`` -0.1 for an action without a
box.

Results differ from the original's where its grader is wrong. The question also states the format of the answer;
``answer_format=""`` leaves the question unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gem.arguments import boolean, choice, real, string
from gem.core import Observation
from gem.errors import ArgumentTypeError, DatasetError
from gem.text import extract_last_boxed_answer
from gem_questions import Grade, QuestionEnv, open_dataset
from gem_questions.question import RowMap
from gem_questions.schemas import RowContent, chosen_option, read_row

if TYPE_CHECKING:
    from gem_envs_math.grader import AnswerJudge, Done
    from gem_processes import ProcessPool, ResourceHandle
    from gem_questions.rewards import GradeResult, RewardLike

__all__ = ["ANSWER_FORMAT", "MALFORMED_REWARD", "BoxedMathEnv", "MathEnv", "option_result"]

ANSWER_FORMAT = "Put the final answer in \\boxed{}."
MALFORMED_REWARD = -0.1


class BoxedMathEnv(QuestionEnv):
    r"""The base of all questions with a boxed mathematical answer.

    A subclass sets ``answer_format`` and ``use_format_error_reward``, and ``question_key`` and ``answer_key`` unless it
    overrides ``text_of`` and ``gold_of``.
    """

    question_key: str | None
    answer_key: str | None
    answer_format: str
    use_format_error_reward: bool
    done: Done = "equal"
    """What counts as a finished answer; see :func:`gem_envs_math.grader.grade`."""

    _workers: ResourceHandle[ProcessPool] | None = None
    _judge: AnswerJudge | None = None

    def question(self, row: Mapping[str, Any]) -> Observation:
        return self.with_format(self.text_of(row))

    def text_of(self, row: Mapping[str, Any]) -> str:
        """Return the question as the data set gives it."""
        assert self.question_key is not None
        return str(row[self.question_key])

    def gold_of(self, row: Mapping[str, Any]) -> Any:
        """Return the gold answer: a str, a number, or a list of alternatives."""
        assert self.answer_key is not None
        return row[self.answer_key]

    def with_format(self, question: str) -> str:
        """Return the question with the answer's format, unless the question already states one."""
        if not self.answer_format or "\\boxed" in question:
            return question
        return f"{question.rstrip()}\n\n{self.answer_format}"

    def grade(self, action: Any, row: Mapping[str, Any]) -> Grade:
        answer = extract_last_boxed_answer(action)
        if answer is None:
            return Grade(MALFORMED_REWARD if self.use_format_error_reward else 0.0, correct=False, well_formed=False)
        result = self.compare(answer, row)
        fault = None if result.readable else self._fault_of(row)
        info = {"done": self.done_of(row), "how": result.how}
        return Grade(float(result.correct), result.correct, info=info, verdict=result.verdict, fault=fault)

    def _fault_of(self, row: Mapping[str, Any]) -> str | None:
        """Return why no answer to a row can be graded; None if its gold answer can be read."""
        from gem_envs_math.math_grader import MathGrader

        gold = self.gold_of(row)
        return None if MathGrader().read(gold).readable else f"the gold answer {gold!r:.200} cannot be read"

    def compare(self, answer: str, row: Mapping[str, Any]) -> GradeResult:
        """Return the verdict on the content of the box."""
        from gem_envs_math import grader

        options = self.options_of(row)
        if options:
            return option_result(answer, self.gold_of(row), options)
        if self._workers is None:
            self._workers = grader.workers()
        _ = self._workers.value  # counts as a user of the processes that the grader calls
        tolerance, error = self.tolerances_of(row)
        return grader.grade(
            answer,
            self.gold_of(row),
            question=self.text_of(row),
            tolerance=tolerance,
            error=error,
            judge=self._judge,
            done=self.done_of(row),
        )

    def done_of(self, row: Mapping[str, Any]) -> Done:
        """Return what counts as a finished answer to a row."""
        return self.done

    def options_of(self, row: Mapping[str, Any]) -> Mapping[str, str] | None:
        """Return the options of a multiple-choice question by their letters; None for any other question."""
        return None

    def tolerances_of(self, row: Mapping[str, Any]) -> tuple[float | None, float | None]:
        """Return the relative and the absolute tolerance of a row; None: numbers are exact."""
        return None, None

    def close(self) -> None:
        """Release the grader, whose processes end with its last user."""
        if self._workers is not None:
            self._workers.close()
        if self._judge is not None and hasattr(self._judge, "close"):
            self._judge.close()
        super().close()

    def reference_answer(self, row: Mapping[str, Any]) -> str:
        gold = self.gold_of(row)
        if isinstance(gold, (list, tuple)) and gold:
            gold = gold[0]
        return f"\\boxed{{{gold}}}"


class MathEnv(BoxedMathEnv):
    r"""One question of a data set per episode, graded as mathematics.

    Args:
        dataset_name: a data set's name on the Hugging Face hub, fetched on first use.
        split: the split; None: ``"train"``.
        dataset: a path (parquet, jsonl, arrow, csv, or a folder of them) or rows, instead of ``dataset_name``.
        question_key: the column with the question. None: recognised, like the answer's; see
            :mod:`gem_questions.schemas`.
        answer_key: the column with the answer: text, a number, or a list of accepted answers. Of a worked solution, the
            answer is what follows the last ``####``, or the content of the last box.
        use_format_error_reward: reward -0.1 instead of 0.0 for an action without ``\boxed{…}``.
        seed: seed of the order, until ``reset`` gives another.
        use_mp: without effect, accepted for compatibility with the original; the grader always has a time limit.
        eval: keep the order of the data set.
        answer_format: the format of the answer, appended to each question that does not mention ``\boxed``.
        streaming: read the set from front to back, for sets larger than memory; see :func:`gem_questions.open_rows`.
        map_row: a function from a row to a pair of question and answer, or to another row; see
            :class:`gem_questions.QuestionEnv`.
        tolerance: greatest relative difference of a number from the answer; see :func:`gem_envs_math.grader.grade`.
            None: what the data set declares (Minerva), else none.
        error_key: the column with the greatest absolute difference. None: as the data set declares (OlympiadBench).
        judge: decides where the grader cannot read an answer or a gold answer: a function
            ``judge(answer, gold, question)`` that returns a bool, or None if it cannot tell, or a reward by name.
        done: what counts as a finished answer. ``"computed"``: one that leaves no arithmetic to do that the gold answer
            does not leave, so that ``9 \cdot 2`` is not ``18``. ``"equal"``: any that is equal and no copy of the
            question. ``info["done"]`` has it, and ``info["how"]`` the part of the grader that decided.

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
        use_format_error_reward: bool = False,
        seed: int | None = None,
        use_mp: bool = True,
        eval: bool = False,  # noqa: A002  # the published name
        answer_format: str = ANSWER_FORMAT,
        streaming: bool = False,
        map_row: RowMap | None = None,
        tolerance: float | None = None,
        error_key: str | None = None,
        judge: AnswerJudge | RewardLike | None = None,
        done: Done = "computed",
    ) -> None:
        boolean("use_mp", use_mp)
        self.done = choice("done", done, ("equal", "computed"))
        self.tolerance = None if tolerance is None else real("tolerance", tolerance, minimum=0.0, maximum=1.0)
        self.error_key = None if error_key is None else string("error_key", error_key)
        if judge is not None:
            from gem_envs_math.answer_judge import answer_judge

            self._judge = answer_judge(judge)
        self.question_key = None if question_key is None else string("question_key", question_key)
        self.answer_key = None if answer_key is None else string("answer_key", answer_key)
        self._content: tuple[Mapping[str, Any], RowContent] | None = None
        self.use_format_error_reward = boolean("use_format_error_reward", use_format_error_reward)
        self.answer_format = _text("answer_format", answer_format)
        shuffle = not boolean("eval", eval)
        rows = open_dataset(dataset_name, split, dataset, streaming=streaming)
        super().__init__(rows, shuffle=shuffle, seed=seed, map_row=map_row)

    def content(self, row: Mapping[str, Any]) -> RowContent:
        """Return what a row says: its question, its gold answer, and what else its schema declares."""
        if self._content is None or self._content[0] is not row:
            self._content = row, read_row(row, "math", self.question_key, self.answer_key)
        return self._content[1]

    def text_of(self, row: Mapping[str, Any]) -> str:
        return self.content(row).question

    def gold_of(self, row: Mapping[str, Any]) -> Any:
        return self.content(row).gold

    def options_of(self, row: Mapping[str, Any]) -> Mapping[str, str] | None:
        options: Mapping[str, str] | None = self.content(row).extras.get("options")
        return options

    def tolerances_of(self, row: Mapping[str, Any]) -> tuple[float | None, float | None]:
        extras = self.content(row).extras
        tolerance = extras.get("tolerance") if self.tolerance is None else self.tolerance
        return tolerance, extras.get("error") if self.error_key is None else _number(row, self.error_key)

    def check_row(self, row: Mapping[str, Any]) -> None:
        self.content(row)


def option_result(answer: str, letter: str, options: Mapping[str, str]) -> GradeResult:
    """Return the verdict on an answer to a multiple-choice question; ``how`` is ``"option"``."""
    from gem_questions.rewards import GradeResult

    return GradeResult("same" if chosen_option(answer, options) == letter else "different", "option")


def _number(row: Mapping[str, Any], key: str) -> float | None:
    if key not in row:
        raise DatasetError(
            f"there is no column {key!r}, which error_key names; the row has {', '.join(map(repr, row))}"
        )
    try:
        return None if row[key] is None or row[key] == "" else abs(float(row[key]))
    except (TypeError, ValueError):
        raise DatasetError(
            f"the column {key!r}, which error_key names, is {row[key]!r:.60}, which is no number"
        ) from None


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{name} must be a str, got {value!r:.80} ({type(value).__name__})")
    return value
