"""The record of an episode: :class:`Trajectory`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, TrajectoryError
from gem.faults import is_fault
from gem_rollout.trajectory.edit_chain import Track, latest_observation
from gem_rollout.trajectory.encoding import encoded_as_ascii
from gem_rollout.trajectory.json_values import json_value
from gem_rollout.trajectory.outcome import Outcome, cut_by_environment, episode_outcome, success_of
from gem_rollout.trajectory.token_edits import continues
from gem_rollout.trajectory.transition import EpisodeKey, Failure, Transition, no_value
from gem_rollout.trajectory.turns import are_recorded, edited_turns, read_turns, record_anew, whole_turns

__all__ = ["SCHEMA", "Trajectory"]

SCHEMA = 2
"""The version that is written. Version 1, which held whole observations, is read as well."""


@dataclass
class Trajectory:
    """One episode from its first observation to its end, with everything needed to play it again."""

    spec: EnvSpec | None
    seed: int | None
    """The seed of the episode's reset."""
    transitions: list[Transition] = field(default_factory=list)
    reset_info: dict[str, Any] = field(default_factory=dict)
    final_observation: Any = field(default_factory=no_value)
    """The observation after the last action; of a recorded episode it is rebuilt when it is read."""
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
    """Rewards applied beside the environment's own: name → ``gem_questions.rewards.Score.to_dict()``."""

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
    def outcome(self) -> Outcome:
        """What became of the episode; see :data:`gem_rollout.trajectory.outcome.OUTCOMES`."""
        return episode_outcome(None if self.failure is None else self.failure.source, *self._end())

    @property
    def success(self) -> bool | None:
        """Whether the task was achieved; False also if a limit ended the episode, None if that is not known."""
        return success_of(self.outcome)

    @property
    def error(self) -> str | None:
        """The reason why the episode failed, or None."""
        if self.failure is not None:
            return self.failure.message
        end = self._end()
        return str(end[2]["error"]) if is_fault(*end) else None

    def _end(self) -> tuple[bool, bool, dict[str, Any]]:
        """Return how the environment ended the episode: ``terminated``, ``truncated`` and the last ``info``."""
        if not self.transitions:
            return False, cut_by_environment(True, self.stop_reason), self.reset_info
        last = self.transitions[-1]
        return last.terminated, cut_by_environment(last.truncated, self.stop_reason), last.info

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

    def prompt_continuations(self) -> list[bool | None]:
        """Return for each turn whether its prompt is exactly the agent's previous one, continued.

        True means that the token ids of the prompt are those of the previous prompt, then those sampled for it, then
        new ones; so nothing was tokenized anew in between. None where there is no previous turn of that agent, or one
        of the two has no ``prompt_token_ids``.
        """
        found: list[bool | None] = []
        before: dict[str | None, tuple[list[int] | None, list[int] | None]] = {}
        for turn in self.transitions:
            prompt = turn.prompt_token_ids
            old, sampled = before.get(turn.agent, (None, None))
            found.append(None if prompt is None or old is None else continues(prompt, old, sampled or []))
            before[turn.agent] = prompt, turn.token_ids
        return found

    def __len__(self) -> int:
        """Return the number of turns."""
        return len(self.transitions)

    if not TYPE_CHECKING:  # as in Transition

        def __getattr__(self, name: str) -> Any:
            if name == "final_observation" and "_tracks" in self.__dict__:
                return latest_observation(self._tracks)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def rebuild_from(self, tracks: dict[str | None, Track]) -> None:
        """Rebuild the final observation from its track whenever it is read, until it is assigned."""
        self.__dict__.pop("final_observation", None)
        self.__dict__["_tracks"] = tracks

    def to_dict(self, *, whole: bool = False) -> dict[str, Any]:
        """Return a JSON-serialisable dict with the schema's version in it.

        Args:
            whole: write observations and prompts as they are, not as edits of the ones before, for programs that do
                not know edits. Under a history wrapper this grows with the square of the turns.

        Raises:
            TrajectoryError: if JSON cannot hold a value.
        """
        try:
            return self._record(whole)
        except (TrajectoryError, ArgumentError) as error:  # the latter for a spec with arguments that JSON would change
            raise TrajectoryError(f"a trajectory cannot be written as JSON: {error}") from None

    def unchecked_contents(self) -> dict[str, Any] | None:
        """Return :meth:`to_dict` without schema and spec, sharing its values with this record, for encoders.

        The values are JSON values if nobody has put others into the record since it was made. None for a record whose
        turns were made or changed by hand.
        """
        tracks = self._recorded_tracks()
        if tracks is None:
            return None
        return self._fields(checked=False) | edited_turns(self.transitions, tracks, checked=False)

    def _record(self, whole: bool) -> dict[str, Any]:
        record: dict[str, Any] = {"schema": SCHEMA, "spec": None if self.spec is None else self.spec.to_dict()}
        record |= self._fields(checked=True)
        if whole:
            return record | whole_turns(self.transitions, self.final_observation)
        tracks = self._recorded_tracks()
        if tracks is None:
            tracks = record_anew(self.transitions, self.final_observation)
        return record | edited_turns(self.transitions, tracks)

    def _fields(self, *, checked: bool) -> dict[str, Any]:
        record: dict[str, Any] = {}
        for name, default in _PLAIN.items():
            value = getattr(self, name)
            if value != default or default is _ALWAYS:
                record[name] = json_value(value, name) if checked else value
        if self.failure is not None:
            record["failure"] = dict(vars(self.failure))
        if self.earlier_failures:
            record["earlier_failures"] = [dict(vars(failure)) for failure in self.earlier_failures]
        return record

    def _recorded_tracks(self) -> dict[str | None, Track] | None:
        """Return the tracks of the observations and prompts; None if these are no longer what was recorded."""
        tracks: dict[str | None, Track] | None = None
        if "final_observation" not in self.__dict__:
            tracks = self.__dict__.get("_tracks")
        return tracks if tracks is not None and are_recorded(self.transitions, tracks) else None

    @classmethod
    def from_dict(cls, record: Any) -> Trajectory:
        """Undo :meth:`to_dict`.

        Raises:
            TrajectoryError: if ``record`` is not a trajectory of a known schema version.
        """
        if not isinstance(record, dict) or "schema" not in record:
            raise TrajectoryError("not a trajectory: a JSON object with a 'schema' is needed")
        values = dict(record)
        version = values.pop("schema")
        if version not in (1, SCHEMA) or isinstance(version, bool):
            raise TrajectoryError(f"trajectory schema {version!r} is not known; this gem-core reads 1 and {SCHEMA}")
        try:
            transitions, tracks = read_turns(values)
            spec, failure = values.pop("spec"), values.pop("failure", None)
            trajectory = cls(
                spec=None if spec is None else EnvSpec.from_dict(spec),
                transitions=transitions,
                failure=None if failure is None else Failure(**failure),
                earlier_failures=[Failure(**item) for item in values.pop("earlier_failures", ())],
                **values,
            )
            for name in ("reset_info", "metadata", "scores"):
                if not isinstance(getattr(trajectory, name), dict):
                    raise TypeError(f"{name} must be an object")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise TrajectoryError(f"not a trajectory of schema {version}: {error}") from error
        if tracks is not None:
            trajectory.rebuild_from(tracks)
        return trajectory

    def to_json(self) -> str:
        """Return :meth:`to_dict` as one line of ASCII, in which escapes preserve lone surrogates.

        Raises:
            TrajectoryError: if JSON cannot hold a value.
        """
        return encoded_as_ascii(self.to_dict())


_ALWAYS = object()
_PLAIN: dict[str, Any] = {
    "seed": _ALWAYS,
    "reset_info": _ALWAYS,
    "agent": _ALWAYS,
    "metadata": {},
    "repetition": 0,
    "stop_reason": None,
    "started_at": None,
    "seconds": None,
    "scores": {},
}
"""The fields that are written as they are, and the values that are left out."""
