"""The record of an episode: :class:`Transition`, :class:`Trajectory`, :class:`Failure`, :class:`EpisodeKey`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple

from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, TrajectoryError

__all__ = ["SCHEMA", "EpisodeKey", "Failure", "Trajectory", "Transition"]

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
        label = self.metadata.get("label")
        env = label if isinstance(label, str) else self.spec.id if self.spec else ""
        return EpisodeKey(env, self.seed or 0, self.repetition)

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
        """The reason why the episode failed, or None; a failed episode says nothing about the agent."""
        if self.failure is not None:
            return self.failure.message
        error = self.transitions[-1].info.get("error") if self.transitions else self.reset_info.get("error")
        return None if error is None else str(error)

    @property
    def agents(self) -> list[str]:
        """The agents that acted, in the order of their first turns; empty if the environment has only one."""
        return list(dict.fromkeys(turn.agent for turn in self.transitions if turn.agent is not None))

    def for_agent(self, name: str) -> Trajectory:
        """Return the episode as one of its agents lived it: its own turns, reset info and final observation.

        Raises:
            ArgumentError: if no agent of this name acted.
        """
        if name not in self.agents:
            raise ArgumentError(f"no agent {name!r} acted in this episode; there are {self.agents}")
        seen = self.final_observation
        return replace(
            self,
            transitions=[turn for turn in self.transitions if turn.agent == name],
            reset_info=self.reset_info.get(name, {}),
            final_observation=seen.get(name) if isinstance(seen, dict) else None,
        )

    def __len__(self) -> int:
        """Return the number of turns."""
        return len(self.transitions)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict with the schema's version in it."""
        record: dict[str, Any] = {"schema": SCHEMA}
        for item in fields(self):
            record[item.name] = getattr(self, item.name)
        record["spec"] = None if self.spec is None else self.spec.to_dict()
        record["failure"] = None if self.failure is None else vars(self.failure)
        record["earlier_failures"] = [vars(failure) for failure in self.earlier_failures]
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
            failure = values.pop("failure", None)
            return cls(
                spec=None if spec is None else EnvSpec.from_dict(spec),
                transitions=[Transition(**transition) for transition in values.pop("transitions")],
                failure=None if failure is None else Failure(**failure),
                earlier_failures=[Failure(**item) for item in values.pop("earlier_failures", ())],
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


def _without_defaults(transition: Transition) -> dict[str, Any]:
    record = dict(vars(transition))
    for name, default in _OPTIONAL.items():
        if record[name] == default:
            del record[name]
    return record


_OPTIONAL: dict[str, Any] = {"tool_calls": [], "metadata": {}} | {
    item.name: None for item in fields(Transition) if item.default is None
}
