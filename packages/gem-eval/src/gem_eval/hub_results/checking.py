"""Checks a result again: its figures, its episodes as they were recorded, and its episodes as they are played now.

Scripted agents are played anew. Of other agents the recorded actions are played again in the environment that is
installed here, which must have the code that the result names. No name inside a result or inside the lines of its
episodes is ever imported: the environment comes from its id, wrappers from their registered names. An argument may
itself name code to load, a command to start or a file to read, whatever the environment makes of it, and a number may
be a size that no machine has. So a result whose arguments are more than numbers of a usual size is only played if the
caller trusts them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from gem.env_spec import EnvSpec
from gem.errors import GemError
from gem.registry import all_specs, make
from gem.registry import spec as find_spec
from gem.vector.env_runner import describe
from gem_eval.hub_results.figures import episode_of, summary_difference
from gem_eval.runs.episode_row import EpisodeRow, settle
from gem_eval.runs.evaluation import evaluate_sync
from gem_eval.runs.evaluation_config import EvaluationConfig, EvaluationEnvironment
from gem_eval.runs.lines import parse_line
from gem_eval.runs.resolution import plan, resolve
from gem_hub_client.results.record import COLUMNS, SCRIPTED_AGENTS, ResultEpisode, ResultError, ResultRecord
from gem_rollout.replay import replay
from gem_rollout.trajectory import Trajectory

__all__ = ["CheckedResult", "check_result", "raw_difference"]

_USUAL = 100
"""Largest number that is an argument of an environment, where no manifest gives a larger one; longest list of them."""
_USUAL_OF_WRAPPERS = 1_000_000
"""The same for wrappers, whose numbers are limits of turns, tokens and characters."""
_PLAYED_AGAIN = ("outcome", "return", "turns", "failure")
"""What two plays of one agent have in common; digests hold times, and a replay has no tokens."""


@dataclass(frozen=True)
class CheckedResult:
    """What came of checking a result."""

    verdict: Literal["same", "differs", "cannot be checked"]
    difference: str = ""
    """The first difference, or why nothing could be compared."""
    replayed: int = 0
    """Episodes that were played again with the same result."""
    left_out: int = 0
    """Episodes that failed by no fault of the agent, which say nothing that could be compared."""
    how: str = ""
    """How they were played."""


def raw_difference(record: ResultRecord, raw: bytes) -> str:
    """Return in what recorded episodes differ from what a result says of them; empty if in nothing.

    Args:
        record: the result.
        raw: the lines of its episodes, of any origin.
    """
    if sha256(raw).hexdigest() != record.raw_sha256 or len(raw) != record.raw_size:
        return f"the recorded episodes have not the sha256 {record.raw_sha256[:12]}… that the result names"
    lines = raw.splitlines(keepends=True)
    if len(lines) != len(record.episodes):
        return f"there are {len(lines)} recorded episodes, and the result lists {len(record.episodes)}"
    rows = []
    for number, (line, episode) in enumerate(zip(lines, record.episodes, strict=True), 1):
        if sha256(line).hexdigest() != episode.sha256:
            return f"recorded episode {number} has not the sha256 that the result names"
        try:
            document = parse_line(line)
            spec = document["spec"]
            if spec["id"] != record.environment:
                return f"recorded episode {number} is of {spec['id']!r:.80}, and the result of {record.environment!r}"
            if spec["recorded_digest"] != record.code:
                found = f"the digest {spec['recorded_digest']!r:.14}…, and the result {record.code[:12]}…"
                return f"recorded episode {number} was played with other code: it has {found}"
            for argument, value in record.kwargs.items():
                if spec["kwargs"].get(argument) != value:
                    found = f"{argument} = {spec['kwargs'].get(argument)!r:.40}, and the result {value!r:.40}"
                    return f"recorded episode {number} was played with other arguments: it has {found}"
            row = replace(EpisodeRow.of_record(document, 0, len(line)), cost=episode.cost)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            return f"recorded episode {number} cannot be read: {error!r:.200}"
        rows.append(row)
    for number, (row, episode) in enumerate(zip(settle(rows), record.episodes, strict=True), 1):
        found = _difference(episode, episode_of(row, episode.sha256), COLUMNS)
        if found:
            return f"recorded episode {number} (seed {episode.seed}): {found}"
    return ""


def check_result(record: ResultRecord, raw: bytes | None = None, *, trust_arguments: bool = False) -> CheckedResult:
    """Check a result whose signature has been verified.

    Args:
        record: the result.
        raw: the lines of its episodes; None where they cannot be had.
        trust_arguments: play it with whatever arguments its run gave to the environment and to wrappers.
    """
    try:
        difference = summary_difference(record) or ("" if raw is None else raw_difference(record, raw))
    except ResultError as error:
        difference = str(error)
    if difference:
        return CheckedResult("differs", difference)
    try:
        installed = find_spec(record.environment)
    except GemError as error:
        return CheckedResult("cannot be checked", f"{error}. {_advice(record)}")
    if installed.source_digest != record.code:
        return CheckedResult(
            "cannot be checked",
            f"the installed code of {record.environment} has the digest {str(installed.source_digest)[:12]}…, and the "
            f"result is of {record.code[:12]}…. {_advice(record)}",
        )
    argument = "" if trust_arguments else _untrusted_argument(record, installed)
    if argument:
        return CheckedResult(
            "cannot be checked",
            f"its run set {argument}; such an argument may name code, commands or files of this machine, or use up its "
            "memory, and the publisher chose it. If you trust it, check with --trust-arguments",
        )
    if record.agent in SCRIPTED_AGENTS:
        return _play_anew(record)
    if raw is None:
        return CheckedResult(
            "cannot be checked",
            "its recorded episodes are neither in the hub nor at an address; ask its publisher for the run and name it "
            "with --episodes FILE",
        )
    return _replay(record, raw)


def _untrusted_argument(record: ResultRecord, installed: EnvSpec) -> str:
    """Return the first argument that no manifest here gives and that is more than numbers; empty if there is none.

    A number may be as large as the largest that a manifest gives to the argument, or :data:`_USUAL`.
    """
    same = [spec.kwargs for spec in all_specs() if spec.entry_point == installed.entry_point]
    for name, value in record.kwargs.items():
        given = [kwargs[name] for kwargs in same if name in kwargs]
        most = max([_USUAL, *(abs(one) for one in given if isinstance(one, int | float))])
        if value not in given and not _is_small(value, most):
            return f"{name} = {value!r:.80}"
    for wrapper in record.wrappers:
        for name, value in wrapper.items() if isinstance(wrapper, Mapping) else ():
            if name != "name" and not _is_small(value, _USUAL_OF_WRAPPERS):
                return f"{name} = {value!r:.80} of the wrapper {wrapper['name']!r}"
    return ""


def _is_small(value: Any, most: float) -> bool:
    """Return whether a value is made of truth values, null and numbers of at most this size alone."""
    if isinstance(value, list | tuple):
        return len(value) <= _USUAL and all(_is_small(one, most) for one in value)
    return value is None or (isinstance(value, int | float) and abs(value) <= most)


def _advice(record: ResultRecord) -> str:
    if record.wheel:
        return f"Install exactly that wheel: gem hub install {record.package}=={record.version}"
    return f"It was made with an unreleased {record.package}; check out the sources that have this digest"


def _play_anew(record: ResultRecord) -> CheckedResult:
    with tempfile.TemporaryDirectory(prefix="gem-result-") as scratch:
        try:
            folder = evaluate_sync(_config(record), out=Path(scratch, "run"))
        except GemError as error:
            return CheckedResult("cannot be checked", f"the {record.agent} policy cannot be played: {error}")
        rows = sorted(folder.rows(), key=lambda row: (row.seed, row.repetition))
    now = [episode_of(row, "") for row in rows]
    return _compared(record, now, f"the {record.agent} policy played anew")


def _replay(record: ResultRecord, raw: bytes) -> CheckedResult:
    """Play recorded actions again in the installed environment, whatever the lines say of where it comes from."""
    same = left_out = 0
    try:
        spec = next(plan(resolve(_config(record)).environments)).spec
        env = make(spec)
    except Exception as error:  # a constructor may raise anything
        return CheckedResult("cannot be checked", f"{record.environment} cannot be made: {describe(error)}")
    with env:
        for episode, trajectory in zip(record.episodes, _trajectories(raw), strict=True):
            if episode.outcome == "unknown":
                left_out += 1
                continue
            played = replay(replace(trajectory, seed=episode.seed), env=env)
            if played.result != "same":
                what = str(played.difference) if played.difference is not None else played.problem
                return CheckedResult("differs", f"seed {episode.seed}: {what}", same, left_out)
            same += 1
    return _agreed(same, left_out, "the recorded actions played again")


def _config(record: ResultRecord) -> EvaluationConfig:
    """Return the evaluation that a scripted agent of this name would have, in the environment that is installed."""
    environment = EvaluationEnvironment(
        id=record.environment,
        episodes=record.planned,
        group=record.group,
        seed=record.seed,
        wrappers=tuple(record.wrappers),
        kwargs=dict(record.kwargs),
    )
    agent = record.agent if record.agent in SCRIPTED_AGENTS else "null"
    return EvaluationConfig((environment,), agent=agent, limits=record.limits, retries=0)


def _trajectories(raw: bytes) -> Iterator[Trajectory]:
    for line in raw.splitlines():
        yield Trajectory.from_dict({**parse_line(line), "spec": None})


def _compared(record: ResultRecord, now: Sequence[ResultEpisode], how: str) -> CheckedResult:
    same = left_out = 0
    for episode, again in zip(record.episodes, now, strict=True):
        if episode.outcome == "unknown":
            left_out += 1
            continue
        found = _difference(episode, again, _PLAYED_AGAIN)
        if found:
            return CheckedResult("differs", f"seed {episode.seed}: {found}", same, left_out)
        same += 1
    return _agreed(same, left_out, how)


def _agreed(same: int, left_out: int, how: str) -> CheckedResult:
    """Return the verdict on a result in which nothing differs; where nothing was compared, it is none."""
    if not same:
        return CheckedResult(
            "cannot be checked",
            f"all its {left_out} episodes failed by no fault of the agent, so there is nothing that could be compared",
            0,
            left_out,
        )
    return CheckedResult("same", "", same, left_out, how)


def _difference(episode: ResultEpisode, found: ResultEpisode, columns: Sequence[str]) -> str:
    pairs = zip(COLUMNS, vars(episode).values(), vars(found).values(), strict=True)
    return next(
        (f"the result says {name} {said!r}, and it is {now!r}" for name, said, now in pairs
         if name in columns and said != now),
        "",
    )  # fmt: skip
