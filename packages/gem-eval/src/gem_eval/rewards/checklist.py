"""The reward ``checklist``: the share of items that an episode meets, by predicates and by questions to a judge."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gem.arguments import boolean, real, string
from gem.errors import ArgumentError, ArgumentTypeError
from gem_eval.rewards.judge import JudgeError
from gem_eval.rewards.judge_answers import bool_of, reason_of, value_of
from gem_eval.rewards.judged import JudgedReward, judged_by, unreadable
from gem_eval.rewards.predicates import Predicate, check_item, predicate_of
from gem_questions.rewards import Score
from gem_rollout.trajectory import Trajectory

__all__ = ["ChecklistItem", "ChecklistReward", "read_verdicts", "verdicts_wanted"]

_OWN = ("name", "question", "weight", "required")
_LONGEST_REASON = 500  # characters


@dataclass(frozen=True)
class ChecklistItem:
    """One item: a predicate, or a question that a judge answers with yes or no."""

    name: str
    question: str | None
    predicate: Predicate | None
    weight: float
    required: bool

    @classmethod
    def of(cls, item: Any, number: int) -> ChecklistItem:
        """Return the item of a dict, or of a question alone."""
        if isinstance(item, str):
            item = {"question": item}
        if not isinstance(item, Mapping):
            raise ArgumentTypeError(f"an item is a question or a dict, got {item!r:.80}")
        check_item(item, *_OWN)
        question = item.get("question")
        needs_predicate = question is None or not item.keys() <= set(_OWN)
        return cls(
            string("an item's name", item.get("name", f"item_{number}")),
            None if question is None else string("question", question),
            predicate_of(item) if needs_predicate else None,
            real("weight", item.get("weight", 1.0), minimum=0.0),
            boolean("required", item.get("required", False)),
        )


class ChecklistReward(JudgedReward):
    """The weighted share of the items that are met; 0.0 if a required one is not.

    All questions go to the judge at once, and none of them if a required predicate has already failed. Without
    questions no judge is needed, and the reward is not async.

    Args:
        items: questions, or dicts with ``question`` or a predicate of :func:`gem_eval.rewards.predicates.predicate_of`,
            and with ``name``, ``weight`` (1.0) and ``required`` (false).
        judge: as in :class:`gem_eval.rewards.judged.JudgedReward`, like the next one.
        max_chars: length of an episode's text.
    """

    def __init__(self, *, items: Sequence[Any], judge: Any = None, max_chars: int = 24_000) -> None:
        super().__init__(judge=judge, max_chars=max_chars)
        if isinstance(items, (str, Mapping)) or not isinstance(items, Iterable):
            raise ArgumentTypeError(f"items must be a list, got {items!r:.80}")
        self.items = [ChecklistItem.of(item, number) for number, item in enumerate(items, start=1)]
        names = [item.name for item in self.items]
        if not names or len(set(names)) < len(names):
            raise ArgumentError("a checklist needs at least one item, and names that differ")
        if any(item.question is not None and item.predicate is not None for item in self.items):
            raise ArgumentError("an item is a question or a predicate, not both")
        if not any(item.weight for item in self.items):
            raise ArgumentError("at least one item needs a weight")
        self._questions = [item for item in self.items if item.question is not None]

    @property
    def asks(self) -> bool:
        return bool(self._questions)

    @property
    def asynchronous(self) -> bool:
        return self.asks

    def score(self, trajectory: Trajectory) -> Score | Awaitable[Score]:
        met = {item.name: item.predicate(trajectory) for item in self.items if item.predicate is not None}
        failed = any(item.required and not met.get(item.name, True) for item in self.items)
        if self._questions and not failed:
            return self._ask(trajectory, met)
        return self._score(met, {}, {})

    async def _ask(self, trajectory: Trajectory, met: dict[str, bool]) -> Score:
        names = [item.name for item in self._questions]
        task, schema = verdicts_wanted({item.name: str(item.question) for item in self._questions})
        try:
            answer = await self.ask(trajectory, task, schema, lambda record: read_verdicts(record, names))
        except JudgeError as error:
            return unreadable(error)
        met.update({name: verdict for name, (verdict, _) in answer.value.items()})
        return self._score(met, {name: reason for name, (_, reason) in answer.value.items()}, judged_by(answer))

    def _score(self, met: Mapping[str, bool], reasons: Mapping[str, str], metadata: dict[str, Any]) -> Score:
        asked = [item for item in self.items if item.name in met]
        lost = [item.name for item in asked if item.required and not met[item.name]]
        total = sum(item.weight for item in self.items)
        value = 0.0 if lost else sum(item.weight for item in asked if met[item.name]) / total
        said = [
            f"{item.name}: {'met' if met[item.name] else 'not met'}. {reasons.get(item.name, '')}".strip()
            for item in asked
        ]
        return Score(
            min(1.0, value),
            {item.name: float(met[item.name]) for item in asked},
            said,
            {**metadata, "required_not_met": lost} if lost else metadata,
        )


def verdicts_wanted(questions: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    """Return the judge's task for questions by their names, and the JSON schema of the answer."""
    listed = "\n".join(f"- {name}: {question}" for name, question in questions.items())
    one = {
        "type": "object",
        "properties": {"reason": {"type": "string"}, "met": {"type": "boolean"}},
        "required": ["reason", "met"],
        "additionalProperties": False,
    }
    schema = {
        "type": "object",
        "properties": dict.fromkeys(questions, one),
        "required": list(questions),
        "additionalProperties": False,
    }
    task = (
        "You judge the record of an episode in which an agent acted in an environment. Answer each of these "
        f"questions about it with true or false:\n{listed}\nFor each first give the reason in one sentence. Where "
        "the record does not show it, the answer is false."
    )
    return task, schema


def read_verdicts(record: Mapping[str, Any], names: Sequence[str]) -> dict[str, tuple[bool, str]]:
    """Return the answer to each question, and its reason.

    Raises:
        MalformedAnswerError: if one is missing, or neither yes nor no.
    """
    found = {}
    for name in names:
        value, reason = value_of(record, name), ""
        if isinstance(value, Mapping):
            reason, value = reason_of(value)[:_LONGEST_REASON], value_of(value, "met")
        found[name] = bool_of(value, f"the answer to {name!r}"), reason
    return found
