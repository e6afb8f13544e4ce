r"""Rewards that compare the agent's answer with a right one: :class:`AnswerReward`.

The right answer of a recorded episode comes from the record, or from its environment: the environment of the id is
made anew and asks the recorded question again, and its row has the answer. Only installed environments are made, by
their ids; the entry point that a record names is never called.
"""

from __future__ import annotations

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from gem.errors import ArgumentError, ArgumentTypeError, TrajectoryError
from gem.registry import make, spec
from gem.text import action_text, extract_code_from_model, extract_last_boxed_answer, extract_last_tagged_answer
from gem_questions.rewards.reward import Reward, Score

if TYPE_CHECKING:
    from gem.core import Env
    from gem_rollout.trajectory import Trajectory

__all__ = ["AnswerReward", "RecordedQuestions", "final_text", "observation_text"]

T = TypeVar("T")

_KEYS = ("answer", "gold", "gold_answer", "target")
"""Keys of info and metadata that hold a right answer, in order of precedence."""
_MOST_ENVIRONMENTS = 8


def final_text(trajectory: Trajectory) -> str:
    """Return the text of the last action that has any; empty if there is none."""
    for transition in reversed(trajectory.transitions):
        text = action_text(transition.action)
        if text:
            return text
    return ""


class RecordedQuestions:
    """Asks the questions of recorded episodes anew, to read what the record lacks; safe from any thread.

    Keeps the last few environments that it made; :meth:`close` closes them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._envs: OrderedDict[str, Env[Any, Any]] = OrderedDict()

    def ask(self, trajectory: Trajectory, read: Callable[[Any, Mapping[str, Any]], T]) -> T:
        """Return ``read(env, row)`` of the episode's question.

        Args:
            trajectory: an episode of an environment that asks questions (:class:`gem_questions.QuestionEnv`).
            read: called with the environment, in which the question was asked again, and the question's row.

        Raises:
            TrajectoryError: if the question cannot be asked again, or is another one now.
        """
        with self._lock:
            env = self._env_of(trajectory)
            index = trajectory.reset_info.get("index")
            try:
                if isinstance(index, int):
                    env.reset(options={"index": index})
                else:
                    env.reset(seed=trajectory.seed)
                row = getattr(env, "row", None)
            except Exception as error:  # an environment may raise anything
                raise TrajectoryError(f"the question cannot be asked again: {type(error).__name__}: {error}") from error
            if not isinstance(row, Mapping):
                raise TrajectoryError(
                    f"{_id(trajectory)} asks no questions of a set, so it has no right answer to read"
                )
            self._check(trajectory, env, row)
            return read(env, row)

    def close(self) -> None:
        """Close the environments. A later question makes them again."""
        with self._lock:
            while self._envs:
                self._envs.popitem()[1].close()

    def _env_of(self, trajectory: Trajectory) -> Any:
        recorded = trajectory.spec
        if recorded is None:
            raise TrajectoryError("the record does not say which environment it is of")
        kwargs = dict(recorded.kwargs)
        key = json.dumps([recorded.id, kwargs], sort_keys=True, default=repr)
        env = self._envs.get(key)
        if env is None:
            try:
                env = make(spec(recorded.id), **kwargs).unwrapped
            except Exception as error:  # a constructor may raise anything
                raise TrajectoryError(f"{recorded.id} cannot be made: {type(error).__name__}: {error}") from error
            self._envs[key] = env
            if len(self._envs) > _MOST_ENVIRONMENTS:
                self._envs.popitem(last=False)[1].close()
        self._envs.move_to_end(key)
        return env

    def _check(self, trajectory: Trajectory, env: Any, row: Mapping[str, Any]) -> None:
        """Raise TrajectoryError if the record shows another question than the environment asks now."""
        shown = trajectory.transitions[0].observation if trajectory.transitions else trajectory.final_observation
        asked = env.question(row) if callable(getattr(env, "question", None)) else None
        if not isinstance(asked, str) or asked in observation_text(shown):
            return
        recorded = trajectory.spec
        assert recorded is not None
        # A wrapper may have changed how the question looks; then the code is the same.
        if recorded.source_digest != spec(recorded.id).source_digest:
            raise TrajectoryError(f"{_id(trajectory)} asks another question now than the record shows")


class AnswerReward(Reward):
    r"""Compares the answer in the agent's last text with the right answer.

    A subclass implements :meth:`grade`, and may override :meth:`gold_of`.

    Args:
        answer: the right answer to every episode, for an environment with one task; a list has alternatives.
        answer_from: where the right answer of an episode is: ``"info:KEY"`` (of the last step, else of the reset),
            ``"metadata:KEY"`` of the trajectory, ``"row:COLUMN"`` of the question's row. By default the keys
            ``answer``, ``gold``, ``gold_answer`` and ``target`` of info and metadata, then the environment's own.
        extract: which part of the text is the answer: ``"boxed"``, ``"tag:NAME"``, ``"code"`` (the last fenced block),
            ``"last_line"``, ``"text"`` (all of it), ``"regex:…"`` (the first group of the last match); ``"auto"`` is
            the last ``\boxed{…}``, else the last ``<answer>…</answer>``, else all of the text.
    """

    def __init__(self, *, answer: Any = None, answer_from: str | None = None, extract: str = "auto") -> None:
        self.answer = answer
        self.answer_from = answer_from
        self.extract = extract
        self._extractor = _extractor(extract)
        if answer is not None and answer_from is not None:
            raise ArgumentError("give either answer or answer_from")
        if answer_from is not None and _place(answer_from) is None:
            raise ArgumentError(
                f"answer_from must be 'info:KEY', 'metadata:KEY' or 'row:COLUMN', got {answer_from!r:.80}"
            )
        self._questions = RecordedQuestions()

    def grade(self, said: str, gold: Any) -> Score:
        """Return the score of an answer, given the right one."""
        raise NotImplementedError

    def gold_of(self, env: Any, row: Mapping[str, Any]) -> Any:
        """Return the right answer of a row of an environment's questions."""
        gold_of = getattr(env, "gold_of", None)
        if callable(gold_of):
            return gold_of(row)
        key = getattr(env, "answer_key", None)
        if isinstance(key, str) and key in row:
            return row[key]
        return self._extractor(env.reference_answer(row))

    def score(self, trajectory: Trajectory) -> Score:
        try:
            gold = self.gold(trajectory)
        except TrajectoryError as error:
            return Score.unreadable(str(error), "no_answer_known")
        if gold is None:
            return Score.unreadable("the episode's right answer is not known", "no_answer_known")
        said = self._extractor(final_text(trajectory))
        if said is None:
            return Score(0.0, reasons=["the agent gave no answer in the expected format"])
        return self.grade_episode(trajectory, said, gold)

    def grade_episode(self, trajectory: Trajectory, said: str, gold: Any) -> Score:
        """Return the score of an answer, given the right one and the episode; by default as :meth:`grade`."""
        return self.grade(said, gold)

    def gold(self, trajectory: Trajectory) -> Any:
        """Return the right answer of an episode; None if the record names no such value.

        Raises:
            TrajectoryError: if the environment would have it and cannot be asked.
        """
        if self.answer is not None:
            return self.answer
        place = None if self.answer_from is None else _place(self.answer_from)
        if place is None:
            found = next((value for key in _KEYS if (value := _recorded(trajectory, key)) is not None), None)
            return self._questions.ask(trajectory, self.gold_of) if found is None else found
        where, key = place
        if where == "row":
            return self._questions.ask(trajectory, lambda _, row: row.get(key))
        return trajectory.metadata.get(key) if where == "metadata" else _from_info(trajectory, key)

    def close(self) -> None:
        self._questions.close()


def _place(answer_from: str) -> tuple[str, str] | None:
    where, _, key = answer_from.partition(":") if isinstance(answer_from, str) else ("", "", "")
    return (where, key) if where in ("info", "metadata", "row") and key else None


def _recorded(trajectory: Trajectory, key: str) -> Any:
    found = _from_info(trajectory, key)
    return trajectory.metadata.get(key) if found is None else found


def _from_info(trajectory: Trajectory, key: str) -> Any:
    last = trajectory.transitions[-1].info if trajectory.transitions else {}
    found = last.get(key)
    return trajectory.reset_info.get(key) if found is None else found


def _extractor(extract: str) -> Callable[[str], str | None]:
    if not isinstance(extract, str):
        raise ArgumentTypeError(f"extract must be a str, got {extract!r:.80}")
    kind, _, argument = extract.partition(":")
    if extract in _EXTRACTORS:
        return _EXTRACTORS[extract]
    if kind == "tag" and argument:
        return lambda text: extract_last_tagged_answer(text, argument)
    if kind == "regex" and argument:
        try:
            pattern = re.compile(argument)
        except re.error as error:
            raise ArgumentError(f"extract: {argument!r} is not a regular expression: {error}") from error
        return lambda text: _last_match(pattern, text)
    known = ", ".join(map(repr, (*_EXTRACTORS, "tag:NAME", "regex:PATTERN")))
    raise ArgumentError(f"extract must be one of {known}, got {extract!r:.80}")


def _auto(text: str) -> str | None:
    for found in (extract_last_boxed_answer(text), extract_last_tagged_answer(text)):
        if found is not None:
            return found
    return text.strip() or None


def _last_line(text: str) -> str | None:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else None


def _last_match(pattern: re.Pattern[str], text: str) -> str | None:
    last = None
    for match in pattern.finditer(text):
        last = match
    if last is None:
        return None
    return last[1] if pattern.groups else last[0]


_EXTRACTORS: dict[str, Callable[[str], str | None]] = {
    "auto": _auto,
    "boxed": extract_last_boxed_answer,
    "code": extract_code_from_model,
    "last_line": _last_line,
    "text": lambda text: text.strip() or None,
}


def observation_text(observation: Any) -> str:
    """Return all text of an observation: of a str, content parts or chat messages."""
    if isinstance(observation, str):
        return observation
    if isinstance(observation, list):
        return "\n".join(map(observation_text, observation))
    if isinstance(observation, Mapping):
        return observation_text(observation.get("text") or observation.get("content") or "")
    return ""


def _id(trajectory: Trajectory) -> str:
    return "the episode" if trajectory.spec is None else trajectory.spec.id
