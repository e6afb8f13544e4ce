"""What can be earned without thought: :func:`thoughtless_shares`.

A constant answer, a copy of the question and the numbers of the question need no model. What the best of these rules
earns says how much of a reward is luck: half of it where the answer is a yes or a no.
"""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gem.errors import NotSupportedError
from gem.policies import make_policy
from gem.text import action_text, extract_code_from_model, extract_last_boxed_answer, extract_last_tagged_answer
from gem_questions import QuestionEnv

if TYPE_CHECKING:
    from gem.core import Env

__all__ = ["COPIES", "THOUGHTLESS_SHARE", "ThoughtlessShares", "form_of", "text_of", "thoughtless_shares"]

THOUGHTLESS_SHARE = 0.4
"""The share of the highest reward below which every thoughtless rule stays, where the manifest declares no
``thoughtless_share``."""

QUESTIONS = 64
FIRST_SEED = 10_000
_FEWEST = 8
_SIGMAS = 4.0

_NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:[.,]\d+)*(?:/\d+)?")
_FORMULA = re.compile(r"\$\$?([^$]+)\$\$?|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_OPTION = re.compile(r"([^\s,.;:?]+),? or ([^\s,.;:?]+)")
_TAG = re.compile(r"<(\w{1,20})>[^<]*</\1>\s*\Z")


@dataclass(frozen=True)
class ThoughtlessShares:
    """What thoughtless rules earn in an environment of one turn."""

    shares: Mapping[str, float] = field(default_factory=dict)
    """Rule → its mean reward, as a share of the highest reward; a negative reward counts as nothing."""
    questions: int = 0
    """The number of different questions that were asked."""

    @property
    def rule(self) -> str:
        """The rule that earns most."""
        return max(self.shares, key=self.shares.__getitem__, default="none")

    @property
    def share(self) -> float:
        """What that rule earns; 0.0 if nothing was asked."""
        return self.shares.get(self.rule, 0.0)

    def reaches(self, limit: float) -> bool:
        """Return whether the best rule earns the limit, a share below 1.0; where 1.0 is declared, all is allowed.

        Few questions prove little, so that fewer than :data:`QUESTIONS` get the benefit of four standard errors.
        """
        slack = 0.0
        if self.questions < QUESTIONS:
            slack = _SIGMAS * math.sqrt(limit * (1.0 - limit) / max(1, self.questions))
        return limit < 1.0 and 0.0 < self.share >= limit + slack


@dataclass(frozen=True)
class _Asked:
    """A question that was asked, and what the rules that read it alone earned."""

    seed: int
    gold: str
    """The answer in the reference policy's action."""
    kind: Hashable
    dressed: Callable[[str], str]
    """Puts an answer into the form of the reference policy's actions."""
    paid: Mapping[str, float]


def thoughtless_shares(
    env: Env[Any, Any],
    *,
    questions: int = QUESTIONS,
    seconds: float = math.inf,
    highest: float | None = None,
    seed: int = FIRST_SEED,
) -> ThoughtlessShares:
    r"""Return what thoughtless rules earn.

    The rules: *constant* answers with the most frequent right answer to questions of the same kind (the row's ``kind``,
    where it has one), counted in the other half of the questions, so that chance does not help it; the others answer
    with the question itself, with its first, last or longest formula, with the first or last of its numbers, with all
    of them, or with one of two things that it offers. Every answer has the form of the reference policy's actions:
    in ``\boxed{…}``, between tags, as it is, or as what a program in a fenced block prints.

    Args:
        env: an environment of one turn, with a reference policy.
        questions: the number of resets, with successive seeds; a question that comes again is left out.
        seconds: no further question is asked after so many seconds of wall-clock time; at least eight are.
        highest: the highest reward; that of the declared ``reward_range``, else 1.0, unless given.
        seed: seed of the first question.

    Raises:
        NotSupportedError: if the environment has no reference policy, or its actions are no texts.
    """
    deadline = time.perf_counter() + seconds
    if highest is None:
        declared = env.spec.reward_range if env.spec is not None else None
        highest = declared[1] if declared is not None and declared[1] > 0 else 1.0
    by_question: dict[str, _Asked] = {}  # a small set asks some of its questions twice, and none counts twice
    for number in range(questions):
        if number >= _FEWEST and time.perf_counter() > deadline:
            break
        shown, one = _ask(env, seed + number)
        by_question.setdefault(shown, one)
    asked = list(by_question.values())
    totals = dict.fromkeys(["constant", *COPIES], 0.0)
    for one, constant in zip(asked, _constants(asked), strict=True):
        for rule, paid in one.paid.items():
            totals[rule] += paid
        if constant is not None:
            env.reset(seed=one.seed)
            totals["constant"] += _reward(env, one.dressed(constant), one.seed)
    shares = {rule: total / highest / max(1, len(asked)) for rule, total in totals.items()}
    return ThoughtlessShares(shares, len(asked))


def _ask(env: Env[Any, Any], seed: int) -> tuple[str, _Asked]:
    """Return what was shown, pictures included, and the question."""
    policy = make_policy("reference", env)
    observation, info = env.reset(seed=seed)
    policy.reset(observation, info)
    action = policy.act(observation, info)
    said = action_text(getattr(action, "action", action))
    if not said:
        raise NotSupportedError(f"the reference policy of {env!r} has actions that are no texts")
    gold, dressed = form_of(said)
    row = getattr(env, "row", None)
    kind = row.get("kind") if isinstance(row, Mapping) else None
    text = text_of(observation)
    answers = {name: rule(text) for name, rule in COPIES.items()}
    known: dict[str, float] = {}  # several rules may say the same
    for answer in answers.values():
        if answer is not None and answer not in known:
            known[answer] = _reward(env, dressed(answer), seed)
    paid = {name: known[answer] for name, answer in answers.items() if answer is not None}
    return repr(observation), _Asked(seed, gold, kind if isinstance(kind, Hashable) else None, dressed, paid)


def _reward(env: Env[Any, Any], action: str, seed: int) -> float:
    """Return what an action earns after ``reset(seed=seed)``, at least 0.0; the question may be asked anew."""
    if isinstance(env, QuestionEnv):
        return max(0.0, env.grade(action, env.row).reward)
    env.reset(seed=seed)
    return max(0.0, float(env.step(action)[1]))


def _constants(asked: list[_Asked]) -> list[str | None]:
    """Return for each question the most frequent right answer to questions of its kind in the other half."""
    counts: dict[tuple[int, Hashable], Counter[str]] = {}
    everything: dict[int, Counter[str]] = {0: Counter(), 1: Counter()}
    for number, one in enumerate(asked):
        counts.setdefault((number % 2, one.kind), Counter())[one.gold] += 1
        everything[number % 2][one.gold] += 1

    def most_common(number: int, one: _Asked) -> str | None:
        other = 1 - number % 2
        found = counts.get((other, one.kind)) or everything[other]
        return min(found, key=lambda gold: (-found[gold], gold), default=None)

    return [most_common(number, one) for number, one in enumerate(asked)]


def form_of(action: str) -> tuple[str, Callable[[str], str]]:
    """Return the answer in an action, and the function that puts another answer into the same form."""
    boxed = extract_last_boxed_answer(action)
    if boxed is not None:
        return boxed, "\\boxed{{{}}}".format
    code = extract_code_from_model(action)
    if code is not None:
        return code, lambda answer: f"```python\n{answer if answer == code else f'print({answer!r})'}\n```"
    tag = _TAG.search(action)
    if tag is not None:
        tagged = extract_last_tagged_answer(action, tag[1])
        if tagged is not None:
            return tagged, f"<{tag[1]}>{{}}</{tag[1]}>".format
    return action, str


def text_of(observation: Any) -> str:
    """Return the text of an observation, without its pictures."""
    if isinstance(observation, str):
        return observation
    if isinstance(observation, list):
        parts = (part.get("text") or part.get("content") or "" for part in observation if isinstance(part, Mapping))
        return "\n".join(part if isinstance(part, str) else text_of(part) for part in parts)
    return ""


def _numbers(text: str) -> list[str]:
    return [found.replace("−", "-") for found in _NUMBER.findall(text)]


def _formulas(text: str) -> list[str]:
    return [next(filter(None, found)).strip() for found in _FORMULA.findall(text)]


def _option(text: str, place: int) -> str | None:
    found = _OPTION.findall(text)
    return found[-1][place] if found else None


COPIES: dict[str, Callable[[str], str | None]] = {
    "all numbers of the question": lambda text: ", ".join(_numbers(text)) or None,
    "a copy of the question": lambda text: text.strip() or None,
    "the last number of the question": lambda text: next(reversed(_numbers(text)), None),
    "the first number of the question": lambda text: next(iter(_numbers(text)), None),
    "the last formula of the question": lambda text: next(reversed(_formulas(text)), None),
    "the first formula of the question": lambda text: next(iter(_formulas(text)), None),
    "the longest formula of the question": lambda text: max(_formulas(text), key=len, default=None),
    "the first of two options": lambda text: _option(text, 0),
    "the second of two options": lambda text: _option(text, 1),
}
"""Rule → the function that reads its answer out of a question; None where the question has none of that."""
