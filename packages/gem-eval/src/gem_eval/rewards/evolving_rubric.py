"""The reward ``evolving_rubric``: criteria that a model revises over a run, from recent episodes.

A fixed rubric stops telling good episodes apart once a policy meets it, and misses faults that only appear in training.
Rubrics that change with the policy are described in "DR Tulu: Reinforcement Learning with Evolving Rubrics for Deep
Research" (Shao et al., 2025). Every score names the version that gave it, and every version is recorded with its
reason.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from gem.arguments import integer
from gem.errors import ArgumentError, GemError
from gem_eval.rewards.criteria import Criterion, read_scores, rubric_schema, rubric_task, weighted_mean
from gem_eval.rewards.episode_text import DATA_RULE, cut_middle, episode_text, plain_line
from gem_eval.rewards.judge import Judge, JudgeError
from gem_eval.rewards.judge_answers import MalformedAnswerError, value_of
from gem_eval.rewards.judged import JUDGE_CACHE, JudgedReward, judged_by, unreadable
from gem_eval.runs.score_files import SCORES_FOLDER, score_path
from gem_questions.rewards import RewardContext, Score
from gem_rollout.trajectory import Trajectory

__all__ = ["EvolvingRubricReward", "RubricVersion"]

_LONGEST_NAME = 60  # characters
_LONGEST_DESCRIPTION = 500  # characters
_HEAVIEST = 3.0


class RubricVersion:
    """One version of the criteria.

    Args:
        number: 0 for the first.
        criteria: all of them, the permanent ones first.
        reason: why it differs from the one before.
        episodes: episodes that were scored before it.
    """

    def __init__(self, number: int, criteria: tuple[Criterion, ...], reason: str = "", episodes: int = 0) -> None:
        self.number = number
        self.criteria = criteria
        self.reason = reason
        self.episodes = episodes

    @property
    def digest(self) -> str:
        """What tells the content of one version from that of another."""
        text = json.dumps([item.to_dict() for item in self.criteria], sort_keys=True)
        return sha256(text.encode()).hexdigest()[:12]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {
            "version": self.number,
            "digest": self.digest,
            "episodes": self.episodes,
            "reason": self.reason,
            "criteria": [item.to_dict() for item in self.criteria],
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> RubricVersion:
        """Undo :meth:`to_dict`."""
        return cls(record["version"], Criterion.all_of(record["criteria"]), record["reason"], record["episodes"])


class EvolvingRubricReward(JudgedReward):
    """A rubric whose criteria are revised after every so many episodes.

    A writer, by default the judge itself, sees recent episodes with their scores, and keeps, drops, adds or reweighs
    criteria; the permanent ones stay. A revision that fails leaves the criteria as they are. Within a run folder the
    versions are recorded in ``scores/LABEL.versions.json``, and a run that goes on continues from the last. Scores of
    different versions are not on one scale: compare policies with a fixed rubric, such as a recorded version.

    Args:
        criteria: the first version, as in :class:`gem_eval.rewards.rubric.RubricReward`; may be empty, if there are
            permanent ones.
        permanent: criteria that are never revised.
        every: episodes from one revision to the next.
        recent: episodes that the writer sees.
        most: criteria of a version, at most, besides the permanent ones.
        instructions: more for judge and writer.
        writer: as ``judge``; None for the judge.
        judge: as in :class:`gem_eval.rewards.judged.JudgedReward`, like the next one.
        max_chars: length of an episode's text.
    """

    def __init__(
        self,
        *,
        criteria: Any = (),
        permanent: Any = (),
        every: int = 32,
        recent: int = 8,
        most: int = 8,
        instructions: str = "",
        writer: Any = None,
        judge: Any = None,
        max_chars: int = 24_000,
    ) -> None:
        super().__init__(judge=judge, max_chars=max_chars)
        self.permanent = Criterion.all_of(permanent)
        self.every = integer("every", every, minimum=1)
        self.most = integer("most", most, minimum=1)
        self.instructions = str(instructions)
        self._writer = None if writer is None else Judge.of(writer)
        first = Criterion.all_of([*self.permanent, *Criterion.all_of(criteria)])
        if not first:
            raise ArgumentError("an evolving rubric needs at least one criterion to begin with")
        self.versions = [RubricVersion(0, first)]
        self.failed_revisions = 0
        self._episodes = 0
        self._recent: deque[tuple[Trajectory, Score]] = deque(maxlen=integer("recent", recent, minimum=1))
        self._revising: asyncio.Task[None] | None = None
        self._file: Path | None = None

    @property
    def version(self) -> RubricVersion:
        """The version that scores now."""
        return self.versions[-1]

    @property
    def config(self) -> dict[str, Any]:
        config = super().config
        return config if self._writer is None else {**config, "writer": self._writer.config}

    def begin(self, context: RewardContext) -> None:
        super().begin(context)
        if self._writer is not None:
            self._writer.check()
            if context.folder is not None:
                self._writer.use_cache(context.folder / JUDGE_CACHE)
        if context.folder is not None:
            self._file = score_path(context.folder / SCORES_FOLDER, self.recorded_as).with_suffix(".versions.json")
            if not context.anew:
                self._continue()

    async def score(self, trajectory: Trajectory) -> Score:
        version = self.version
        criteria = version.criteria
        about = {"version": version.number, "rubric": version.digest}
        try:
            answer = await self.ask(
                trajectory,
                rubric_task(criteria, self.instructions),
                rubric_schema(criteria),
                lambda record: read_scores(record, criteria),
            )
        except JudgeError as error:
            lost = unreadable(error)
            return Score(0.0, reasons=lost.reasons, metadata={**lost.metadata, **about})
        value, shares = weighted_mean(criteria, answer.value)
        reasons = [f"{name}: {given.score:g}. {given.reason}".strip() for name, given in answer.value.items()]
        score = Score(value, shares, reasons, {**judged_by(answer), **about})
        await self._count(trajectory, score)
        return score

    async def close(self) -> None:
        if self._revising is not None:
            await asyncio.gather(self._revising, return_exceptions=True)
        await super().close()
        if self._writer is not None:
            await self._writer.close()

    async def _count(self, trajectory: Trajectory, score: Score) -> None:
        """Take note of an episode, and revise the criteria when it is time; other episodes go on meanwhile."""
        self._episodes += 1
        self._recent.append((trajectory, score))
        if self._episodes % self.every or (self._revising is not None and not self._revising.done()):
            return
        self._revising = asyncio.ensure_future(self._revise())
        await self._revising

    async def _revise(self) -> None:
        old = self.version
        pinned = {item.name.casefold() for item in self.permanent}
        changing = [item.to_dict() for item in old.criteria if item.name.casefold() not in pinned]
        shown = "\n\n".join(
            f"Score {score.value:.2f} ({', '.join(f'{name} {part:.2f}' for name, part in score.parts.items())}):\n"
            + episode_text(trajectory, max(400, self.max_chars // len(self._recent)))
            for trajectory, score in self._recent
        )
        task = (
            "You maintain the criteria by which a judge scores an agent. Read the recent episodes with their scores, "
            "and revise the criteria that may change, so that they tell better episodes from worse ones: drop those "
            "that all episodes meet or fail alike, sharpen vague ones, add what good or bad episodes show and no "
            "criterion covers. A negative weight marks what must not be there, such as tricks that earn a score "
            f"without doing the task. At most {self.most} criteria; weights from -{_HEAVIEST:g} to {_HEAVIEST:g}.\n"
            f"{self.instructions}\nCriteria that stay in any case: {json.dumps([c.name for c in self.permanent])}\n"
            f"Criteria that may change: {json.dumps(changing)}\n\n{DATA_RULE}"
        )
        writer = self._writer or self.judge
        try:
            answer = await writer.ask(task, f"{shown}\n\n{DATA_RULE}", _SCHEMA, self._read_revision)
        except (JudgeError, GemError):
            self.failed_revisions += 1
            self._record()
            return
        criteria, reason = answer.value
        new = RubricVersion(old.number + 1, (*self.permanent, *criteria), reason, self._episodes)
        if new.digest != old.digest:
            self.versions.append(new)
        self._record()

    def _read_revision(self, record: Mapping[str, Any]) -> tuple[tuple[Criterion, ...], str]:
        items = value_of(record, "criteria")
        if not isinstance(items, list) or not items:
            raise MalformedAnswerError("criteria must be a list that is not empty")
        made = []
        for item in items[: self.most]:
            if not isinstance(item, Mapping):
                raise MalformedAnswerError(f"a criterion must be an object, not {item!r:.60}")
            # One plain line each: what the writer has read may have told it to write more than criteria.
            name = plain_line(value_of(item, "name"), _LONGEST_NAME)
            description = plain_line(item.get("description", ""), _LONGEST_DESCRIPTION)
            weight = item.get("weight", 1.0)
            if (
                isinstance(weight, bool)
                or not isinstance(weight, (int, float))
                or not -_HEAVIEST <= weight <= _HEAVIEST
            ):
                raise MalformedAnswerError(f"the weight of {name!r} must lie from -{_HEAVIEST:g} to {_HEAVIEST:g}")
            made.append({"name": name, "description": description, "weight": float(weight)})
        try:
            Criterion.all_of([*self.permanent, *made])
            criteria = Criterion.all_of(made)
        except (ValueError, TypeError) as error:
            raise MalformedAnswerError(str(error)) from error
        return criteria, cut_middle(str(record.get("reason", "")), _LONGEST_DESCRIPTION)

    def _continue(self) -> None:
        """Take the versions of an earlier part of this run."""
        assert self._file is not None
        try:
            record = json.loads(self._file.read_bytes())
            if record["reward"] != json.loads(json.dumps(self.config)):
                return
            versions = [RubricVersion.from_dict(item) for item in record["versions"]]
            self._episodes, self.failed_revisions = int(record["episodes"]), int(record["failed_revisions"])
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return
        self.versions = versions or self.versions

    def _record(self) -> None:
        if self._file is None:
            return
        record = {
            "reward": self.config,
            "episodes": self._episodes,
            "failed_revisions": self.failed_revisions,
            "versions": [version.to_dict() for version in self.versions],
        }
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            fresh = self._file.with_suffix(".new")
            fresh.write_text(json.dumps(record, indent=1), encoding="ascii")
            fresh.replace(self._file)
        except OSError:  # the scores name their version all the same
            return


_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string"},
        "criteria": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "description": {"type": "string"},
                    "weight": {"type": "number", "minimum": -_HEAVIEST, "maximum": _HEAVIEST},
                },
                "required": ["name", "description", "weight"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["reason", "criteria"],
    "additionalProperties": False,
}
