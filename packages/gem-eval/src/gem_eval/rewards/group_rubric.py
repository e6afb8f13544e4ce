"""The reward ``group_rubric``: what a task's rubric items pay that its own samples brought up.

It follows the reinforcement learning with evolving rubrics of "DR Tulu" (Shao et al., arXiv 2511.19399, 2025); see
:mod:`gem_questions.rewards.rubric_buffer`. Items that a program proposes it also checks; a judge reads the others.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from gem.arguments import integer, real
from gem.entry_points import load
from gem.errors import ArgumentError, GemError
from gem_eval.rewards.checklist import read_verdicts, verdicts_wanted
from gem_eval.rewards.episode_text import DATA_RULE, episode_text, plain_line
from gem_eval.rewards.judge import Judge, JudgeError
from gem_eval.rewards.judge_answers import MalformedAnswerError, value_of
from gem_eval.rewards.judged import JUDGE_CACHE, JudgedReward, judged_by, unreadable
from gem_eval.runs.score_files import SCORES_FOLDER, score_path
from gem_questions.rewards import RewardContext, Score
from gem_questions.rewards.rubric_buffer import RubricBuffer, RubricItem, RubricProgram, rubric_value
from gem_rollout.trajectory import Trajectory

__all__ = ["GroupRubricReward"]

_LONGEST_NAME = 60  # characters
_LONGEST_DESCRIPTION = 300  # characters
_MOST_WRITTEN = 3
"""Items of either kind that the writer may propose after a group."""


class _Sample(NamedTuple):
    trajectory: Trajectory
    own: float
    """The environment's reward, 0.0 to 1.0."""
    shares: dict[str, float]
    """Of the items that scored it."""


class _TaskGroup:
    """The samples of a task since its rubric last changed, and its rubric."""

    def __init__(self, key: str, buffer: RubricBuffer) -> None:
        self.key = key
        self.buffer = buffer
        self.samples: list[_Sample] = []


class GroupRubricReward(JudgedReward):
    """The environment's reward of an episode and a rubric of its task, which follows from samples of the policy.

    A task is an environment and a seed. After every ``group`` samples of a task, the program and the writer propose
    items that these samples show, and those that tell them apart score the next ones. An item that all samples meet
    alike retires. Without a writer there is no judge, and a score depends on the samples alone. A writer that fails
    proposes nothing. Within a run folder the rubrics are recorded in ``scores/LABEL.rubrics.jsonl``, a line for each
    change of one, and a run that goes on continues with them. Scores of different generations of a rubric are not on
    one scale.

    Args:
        program: a class that proposes and checks items, as an import path, such as
            ``"gem_envs_qa.research.rubrics:ResearchRubrics"``; None for none. See
            :class:`gem_questions.rewards.rubric_buffer.RubricProgram`.
        writer: as ``judge``: a model that proposes items, which the judge then reads; True for the judge itself; None
            for no such items.
        group: samples of a task after which its rubric changes.
        most: positive items of a rubric, and negative ones, at most.
        own_weight: weight of the environment's reward; each positive item weighs 1.
        instructions: more for judge and writer.
        judge: as in :class:`gem_eval.rewards.judged.JudgedReward`, like the next one.
        max_chars: length of an episode's text.
    """

    def __init__(
        self,
        *,
        program: str | None = None,
        writer: Any = None,
        group: int = 8,
        most: int = 5,
        own_weight: float = 3.0,
        instructions: str = "",
        judge: Any = None,
        max_chars: int = 24_000,
    ) -> None:
        super().__init__(judge=judge, max_chars=max_chars)
        if program is None and writer is None:
            raise ArgumentError("a group rubric needs a program or a writer that proposes its items")
        self._program: RubricProgram | None = None if program is None else load(program)()
        self._writes = writer is not None
        self._writer = None if writer is None or writer is True else Judge.of(writer)
        self.group = integer("group", group, minimum=2)
        self.most = integer("most", most, minimum=1)
        self.own_weight = real("own_weight", own_weight, minimum=0.0)
        self.instructions = str(instructions)
        self.failed_proposals = 0
        self._tasks: dict[str, _TaskGroup] = {}
        self._file: Path | None = None

    @property
    def asks(self) -> bool:
        return self._writes

    @property
    def asynchronous(self) -> bool:
        return self.asks

    @property
    def config(self) -> dict[str, Any]:
        config = super().config
        return config if self._writer is None else {**config, "writer": self._writer.config}

    def rubric(self, trajectory: Trajectory) -> RubricBuffer:
        """Return the rubric of an episode's task."""
        return self._task(trajectory).buffer

    def begin(self, context: RewardContext) -> None:
        super().begin(context)
        if self._writer is not None:
            self._writer.check()
            if context.folder is not None:
                self._writer.use_cache(context.folder / JUDGE_CACHE)
        if context.folder is not None:
            self._file = score_path(context.folder / SCORES_FOLDER, self.recorded_as).with_suffix(".rubrics.jsonl")
            if context.anew or not self._continued():
                with suppress(OSError):
                    self._file.unlink(missing_ok=True)

    def score(self, trajectory: Trajectory) -> Score | Awaitable[Score]:
        return self._score_by_judge(trajectory) if self.asks else self._score_by_program(trajectory)

    def _score_by_program(self, trajectory: Trajectory) -> Score:
        task = self._task(trajectory)
        items = task.buffer.active
        shares = self._checked(items, trajectory)
        score = self._scored(task.buffer.generation, items, trajectory, shares, {}, {})
        if group := self._counted(task, trajectory, shares):
            self._evolve(task, group, [])
        return score

    async def _score_by_judge(self, trajectory: Trajectory) -> Score:
        task = self._task(trajectory)
        items, generation = task.buffer.active, task.buffer.generation
        shares, reasons, about = self._checked(items, trajectory), {}, {}
        read = {item.name: item.description or item.name for item in items if item.check is None}
        if read:
            wanted, schema = verdicts_wanted(read)
            try:
                answer = await self.ask(
                    trajectory,
                    f"{wanted}\n{self.instructions}".strip(),
                    schema,
                    lambda record: read_verdicts(record, list(read)),
                )
            except JudgeError as error:
                return unreadable(error)
            shares |= {name: float(met) for name, (met, _) in answer.value.items()}
            reasons = {name: reason for name, (_, reason) in answer.value.items()}
            about = judged_by(answer)
        score = self._scored(generation, items, trajectory, shares, reasons, about)
        if group := self._counted(task, trajectory, shares):
            await self._propose(task, group)
        return score

    async def close(self) -> None:
        await super().close()
        if self._writer is not None:
            await self._writer.close()

    def _task(self, trajectory: Trajectory) -> _TaskGroup:
        key = f"{trajectory.key.env}#{trajectory.key.seed}"
        return self._tasks.setdefault(key, _TaskGroup(key, RubricBuffer(self.most)))

    def _checked(self, items: tuple[RubricItem, ...], trajectory: Trajectory) -> dict[str, float]:
        if self._program is None:
            return {}
        return {item.name: self._program.share(item, trajectory) for item in items if item.check is not None}

    def _scored(
        self,
        generation: int,
        items: tuple[RubricItem, ...],
        trajectory: Trajectory,
        shares: Mapping[str, float],
        reasons: Mapping[str, str],
        about: dict[str, Any],
    ) -> Score:
        own = _own(trajectory)
        said = []
        for item in items:
            taken = "" if item.positive else ", taken away"
            said.append(f"{item.name}: {shares[item.name]:.2f}{taken}. {reasons.get(item.name, '')}")
        return Score(
            rubric_value(items, shares, own, self.own_weight),
            {"environment": own, **{item.name: shares[item.name] for item in items}},
            [line.strip() for line in said],
            {**about, "generation": generation},
        )

    def _counted(self, task: _TaskGroup, trajectory: Trajectory, shares: dict[str, float]) -> list[_Sample]:
        """Take note of a sample; return its group if it is the last of it."""
        task.samples.append(_Sample(trajectory, _own(trajectory), shares))
        if len(task.samples) < self.group:
            return []
        group, task.samples = task.samples, []
        return group

    async def _propose(self, task: _TaskGroup, group: list[_Sample]) -> None:
        """Change a rubric by what program and writer say of a group."""
        shown = "\n\n".join(
            f"Reward {sample.own:.2f}:\n{episode_text(sample.trajectory, max(400, self.max_chars // len(group)))}"
            for sample in group
        )
        # Items of the program quote reports, which are hostile; those of the writer are plain lines.
        known = [item.to_dict() for item in task.buffer.active if item.check is None]
        wanted = (
            "You maintain the rubric of one task, by which a judge tells the samples of an agent apart. Read the "
            f"samples with their rewards, and propose up to {_MOST_WRITTEN} positive items, for what good samples have "
            f"and no item names, and up to {_MOST_WRITTEN} negative ones, for how samples earn a reward without doing "
            "the task. Each item is a short name and one question about a sample that is answered with yes or no, "
            "where yes means that the sample has it. Propose none that all samples meet alike.\n"
            f"{self.instructions}\n"
            f"The items so far: {json.dumps(known)}\n\n{DATA_RULE}"
        )
        writer = self._writer or self.judge
        try:
            answer = await writer.ask(wanted, f"{shown}\n\n{DATA_RULE}", _SCHEMA, _read_items)
        except (JudgeError, GemError):
            self.failed_proposals += 1
            self._evolve(task, group, [])
        else:
            self._evolve(task, group, answer.value)

    def _evolve(self, task: _TaskGroup, group: list[_Sample], written: list[RubricItem]) -> None:
        proposed = []
        if self._program is not None:
            proposed = self._program.propose([(sample.trajectory, sample.own) for sample in group])
        checked = tuple(item for item in proposed if item.check is not None)
        shares = [sample.shares | self._checked(checked, sample.trajectory) for sample in group]
        names = {item.name for item in (*proposed, *task.buffer.active)}
        task.buffer.evolve(shares, [*proposed, *(item for item in written if item.name not in names)])
        self._record(task)

    def _continued(self) -> bool:
        """Take the rubrics of an earlier part of this run; return whether there was one with this configuration."""
        assert self._file is not None
        tasks: dict[str, _TaskGroup] = {}
        try:
            content = self._file.read_bytes()
            whole = content[: content.rfind(b"\n") + 1]  # what follows was cut off
            first, *lines = whole.splitlines()
            if json.loads(first)["reward"] != json.loads(json.dumps(self.config)):
                return False
            for record in map(json.loads, lines):
                key = str(record["task"])
                tasks[key] = _TaskGroup(key, RubricBuffer.from_dict(record, self.most))
            if whole != content:
                self._file.write_bytes(whole)
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return False
        self._tasks = tasks
        return True

    def _record(self, task: _TaskGroup) -> None:
        if self._file is None:
            return
        lines = [{"task": task.key, **task.buffer.to_dict()}]
        if not self._file.exists():
            lines.insert(0, {"reward": self.config})
        with suppress(OSError):  # the scores name the generation all the same
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a", encoding="ascii") as file:
                file.write("".join(f"{json.dumps(line)}\n" for line in lines))


def _own(trajectory: Trajectory) -> float:
    return min(1.0, max(0.0, trajectory.episode_return))


def _read_items(record: Mapping[str, Any]) -> list[RubricItem]:
    """Return the items that a writer proposes: one plain line each, whatever the samples told it to write."""
    items: dict[str, RubricItem] = {}
    for kind in ("positive", "negative"):
        found = value_of(record, kind)
        if not isinstance(found, list):
            raise MalformedAnswerError(f"{kind} must be a list")
        for one in found[:_MOST_WRITTEN]:
            if not isinstance(one, Mapping):
                raise MalformedAnswerError(f"an item must be an object, not {one!r:.60}")
            name = plain_line(value_of(one, "name"), _LONGEST_NAME)
            question = plain_line(value_of(one, "question"), _LONGEST_DESCRIPTION)
            if not any(map(str.isalnum, name)) or not question:
                raise MalformedAnswerError("an item needs a name and a question")
            items.setdefault(name, RubricItem(name, question, kind == "positive"))
    return list(items.values())


_ITEMS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "question": {"type": "string"}},
        "required": ["name", "question"],
        "additionalProperties": False,
    },
}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"positive": _ITEMS, "negative": _ITEMS},
    "required": ["positive", "negative"],
    "additionalProperties": False,
}
