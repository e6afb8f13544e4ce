"""Recorded episodes: :class:`Transition`, :class:`Trajectory`, and their files.

A file holds one trajectory per line as JSON, each line with its schema version. A writer only appends, each line in
one write, so that several runs can share a file, and a file cut off at any byte loses at most its last line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, MissingPluginError, TrajectoryError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "SCHEMA",
    "EpisodeKey",
    "Failure",
    "Trajectory",
    "TrajectoryWriter",
    "Transition",
    "read_trajectories",
    "to_dataset",
]

SCHEMA = 1


class EpisodeKey(NamedTuple):
    """What distinguishes the episodes of a run: two runs are comparable where their keys meet."""

    env: str
    """The id of the environment, or the run's own label for it."""
    seed: int
    repetition: int = 0
    """The number of the episode within its group, which is all episodes of one seed."""


@dataclass(frozen=True)
class Failure:
    """Why an episode failed. A failed episode says nothing about the agent's skill and counts in no mean."""

    source: Literal["agent", "endpoint", "environment"]
    kind: str
    """A word for tables: ``exception``, ``timeout``, ``rate_limited``, ``invalid_result`` …"""
    message: str
    turn: int
    """Turns completed before the failure."""


@dataclass
class Transition:
    """One turn: observation, action and result."""

    observation: Any
    """The observation that the agent acted on: a str, content parts or chat messages."""
    action: Any
    """The agent's exact output: a str or an assistant message."""
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any] = field(default_factory=dict)
    """The info that the step returned."""
    token_ids: list[int] | None = None
    """The token ids of the action, if the model server reports them; never tokenized afterwards."""
    logprobs: list[float] | None = None
    """Natural-log probability of each of ``token_ids``."""
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    """Tools that this action called, with arguments and results."""
    act_seconds: float | None = None
    """Wall-clock seconds that the agent took."""
    step_seconds: float | None = None
    """Wall-clock seconds that the environment took."""
    prompt_token_ids: list[int] | None = None
    """The token ids of the whole prompt, as the model server took it."""
    tokens: list[str] | None = None
    """The text of each of ``token_ids``, where the server gives it."""
    top_logprobs: list[list[tuple[str, float]]] | None = None
    """For each of ``token_ids``, the most probable tokens with their natural-log probabilities."""
    usage: dict[str, int] | None = None
    """As in :class:`gem.policies.Act`, like the next four."""
    finish_reason: str | None = None
    reasoning: str | None = None
    model: str | None = None
    version: int | str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    """Further data about the model's call, JSON-serialisable."""
    agent: str | None = None
    """In an environment with several agents, the one that acted."""
    step: int | None = None
    """In an environment with several agents, the step of the environment, from 0; agents may act in the same one."""


@dataclass
class Trajectory:
    """One episode from its first observation to its end, with everything needed to play it again."""

    spec: EnvSpec | None
    seed: int | None
    """The seed of the episode's reset."""
    transitions: list[Transition] = field(default_factory=list)
    reset_info: dict[str, Any] = field(default_factory=dict)
    final_observation: Any = None
    """The observation after the last action."""
    agent: str = ""
    """The policy or model that acted."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """Further data about the episode, JSON-serialisable."""
    repetition: int = 0
    """The number of the episode within its group, which is all episodes of one seed."""
    stop_reason: str | None = None
    """Why the episode ended: ``terminated``, ``truncated``, or the limit that ended it (``turns``, ``tokens``,
    ``seconds``, ``context``); None if it failed."""
    failure: Failure | None = None
    """Why the episode failed; None if it did not."""
    earlier_failures: list[Failure] = field(default_factory=list)
    """The failures of earlier attempts to play this episode."""
    started_at: float | None = None
    """Unix time of the reset in seconds."""
    seconds: float | None = None
    """Wall-clock seconds from the reset to the end."""
    scores: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Rewards applied beside the environment's own: name → ``gem.rewards.Score.to_dict()``."""

    @property
    def key(self) -> EpisodeKey:
        """The key of the episode within its run."""
        return EpisodeKey(self.spec.id if self.spec else "", self.seed or 0, self.repetition)

    @property
    def episode_return(self) -> float:
        """The sum of all rewards, undiscounted."""
        return float(sum(t.reward for t in self.transitions))

    @property
    def success(self) -> bool | None:
        """Whether the task was achieved, by ``info["success"]`` or ``info["correct"]``; None if neither is given."""
        info = self.transitions[-1].info if self.transitions else {}
        verdict = info.get("success", info.get("correct"))
        return None if verdict is None else bool(verdict)

    @property
    def error(self) -> str | None:
        """The reason for a failure of the environment, or None; a failed episode says nothing about the agent."""
        error = self.transitions[-1].info.get("error") if self.transitions else self.reset_info.get("error")
        return None if error is None else str(error)

    def __len__(self) -> int:
        """Return the number of turns."""
        return len(self.transitions)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict with the schema's version in it."""
        record: dict[str, Any] = {"schema": SCHEMA}
        for item in fields(self):
            record[item.name] = getattr(self, item.name)
        record["spec"] = None if self.spec is None else self.spec.to_dict()
        record["transitions"] = [_without_defaults(transition) for transition in self.transitions]
        return record

    @classmethod
    def from_dict(cls, record: Any) -> Trajectory:
        """Undo :meth:`to_dict`.

        Raises:
            TrajectoryError: if ``record`` is not a trajectory of this schema version.
        """
        if not isinstance(record, dict) or "schema" not in record:
            raise TrajectoryError("not a trajectory: a JSON object with a 'schema' is needed")
        values = dict(record)
        version = values.pop("schema")
        if version != SCHEMA:
            raise TrajectoryError(f"trajectory schema {version!r} is not known; this gem-core reads {SCHEMA}")
        try:
            spec = values.pop("spec")
            transitions = [Transition(**transition) for transition in values.pop("transitions")]
            return cls(
                spec=None if spec is None else EnvSpec.from_dict(spec),
                transitions=transitions,
                **values,
            )
        except (KeyError, TypeError, AttributeError, ArgumentError) as error:
            raise TrajectoryError(f"not a trajectory of schema {SCHEMA}: {error}") from error

    def to_json(self) -> str:
        """Return :meth:`to_dict` as one line of JSON.

        Escaping preserves text that is not valid Unicode (lone surrogates, which models do emit).

        Raises:
            TrajectoryError: if an observation, action or info is not JSON-serialisable.
        """
        try:
            return json.dumps(self.to_dict(), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
        except (TypeError, ValueError) as error:
            raise TrajectoryError(f"a trajectory cannot be written as JSON: {error}") from error


class TrajectoryWriter:
    """Appends trajectories to a JSONL file; a context manager.

    It first repairs a file whose last line was cut off: the broken line stays, closed by a newline, and readers
    skip it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Unbuffered and in append mode: every write reaches the end of the file in one piece.
        self._file = self.path.open("ab", buffering=0)
        if self.path.stat().st_size and not self._ends_with_newline():
            self._file.write(b"\n")

    def write(self, trajectory: Trajectory) -> None:
        """Append one trajectory.

        Raises:
            TrajectoryError: if it is not JSON-serialisable; the file is then unchanged.
        """
        self._file.write(trajectory.to_json().encode("ascii") + b"\n")

    def close(self) -> None:
        """Close the file. Calling it again does nothing."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ends_with_newline(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"


def read_trajectories(path: str | os.PathLike[str], *, strict: bool = False) -> Iterator[Trajectory]:
    """Yield the trajectories of a JSONL file in order, reading one line at a time.

    A crash can leave lines that are not JSON; they are skipped.

    Args:
        path: the file.
        strict: raise for such lines as well.

    Raises:
        TrajectoryError: if the file cannot be opened, or a line is JSON but not a trajectory; the message
            names file and line.
    """
    for number, line in _lines(Path(path)):
        try:
            record = json.loads(line)
        except ValueError as error:
            if strict and line.strip():
                raise TrajectoryError(f"{path}, line {number}: {error}") from error
            continue
        try:
            yield Trajectory.from_dict(record)
        except TrajectoryError as error:
            raise TrajectoryError(f"{path}, line {number}: {error}") from error


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            yield from enumerate(file, start=1)
    except OSError as error:
        raise TrajectoryError(f"{path}: cannot be read: {error.strerror or error}") from error


def to_dataset(trajectories: Iterable[Trajectory]) -> Any:
    """Return a ``datasets.Dataset`` with one row a turn; ``.to_parquet(path)`` writes it as Parquet.

    Columns: ``env_id``, ``seed``, ``episode`` and ``turn`` (both from 0), ``observation``, ``action``,
    ``reward``, ``terminated``, ``truncated``, ``info``, ``token_ids``, ``logprobs``, ``agent``, ``spec``.
    Text stays text; other observations and actions, ``info`` and ``spec`` are JSON.

    Raises:
        MissingPluginError: if the library ``datasets`` is not installed.
    """
    try:
        import datasets
    except ModuleNotFoundError as error:
        raise MissingPluginError(
            "to_dataset needs the library datasets; run: pip install 'gem-core[datasets]'"
        ) from error
    rows = [
        {
            "env_id": None if trajectory.spec is None else trajectory.spec.id,
            "seed": None if trajectory.seed is None else str(trajectory.seed),  # seeds can exceed 64 bits
            "episode": episode,
            "turn": turn,
            "observation": _as_text(transition.observation),
            "action": _as_text(transition.action),
            "reward": transition.reward,
            "terminated": transition.terminated,
            "truncated": transition.truncated,
            "info": json.dumps(transition.info),
            "token_ids": transition.token_ids,
            "logprobs": transition.logprobs,
            "agent": trajectory.agent,
            "spec": None if trajectory.spec is None else trajectory.spec.to_json(),
        }
        for episode, trajectory in enumerate(trajectories)
        for turn, transition in enumerate(trajectory.transitions)
    ]
    return datasets.Dataset.from_list(rows)


def _without_defaults(transition: Transition) -> dict[str, Any]:
    record = dict(vars(transition))
    for name in ("token_ids", "logprobs", "act_seconds", "step_seconds"):
        if record[name] is None:
            del record[name]
    if not record["tool_calls"]:
        del record["tool_calls"]
    return record


def _as_text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "replace").decode("utf-8")  # Arrow refuses lone surrogates
