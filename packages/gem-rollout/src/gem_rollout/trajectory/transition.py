"""A turn of an episode, and the names of episodes and failures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from gem_rollout.trajectory.edit_chain import Track

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["EpisodeKey", "Failure", "FailureSource", "Transition", "no_value"]


def no_value() -> None:
    """Return None. As a factory it leaves no default in the class, which would hide a rebuilt value."""


FailureSource = Literal["agent", "endpoint", "environment"]


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

    source: FailureSource
    kind: str
    """A word for tables: ``exception``, ``timeout``, ``rate_limited``, ``invalid_result`` …"""
    message: str
    turn: int
    """Turns completed before the failure."""


@dataclass
class Transition:
    """One turn: observation, action and result.

    In a recorded episode, an observation and a prompt are rebuilt when they are read, and not kept. Lists of messages
    share their messages with each other: do not change them in place.
    """

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
    prompt_token_ids: list[int] | None = field(default_factory=no_value)
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
    version_spans: list[tuple[int | str, int]] | None = None
    """As in :class:`gem.policies.Act`."""

    if not TYPE_CHECKING:  # a type checker would take any attribute for one of these

        def __getattr__(self, name: str) -> Any:
            # Reached only for attributes that the instance lacks: what is rebuilt, and empty containers.
            own = self.__dict__
            track = own.get("_track")
            if track is not None and name in _REBUILT:
                return (track.observations if name == "observation" else track.prompts).value(own["_index"])
            if track is not None and name in _CONTAINERS:
                return own.setdefault(name, _CONTAINERS[name]())
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @classmethod
    def recorded(cls, track: Track, index: int, values: dict[str, Any]) -> Self:
        """Return a turn whose observation and prompt are rebuilt from a track whenever they are read.

        Each is kept from the moment at which it is assigned.

        Args:
            track: of the agent that acted.
            index: of the turn among those of the track.
            values: the other fields, which the turn takes over; those that are missing have their defaults, and an
                empty container is made once it is asked for: a run holds millions of turns.
        """
        turn = cls.__new__(cls)
        turn.__dict__ = values
        values["_track"], values["_index"] = track, index
        return turn

    def rebuild_from(self, track: Track, index: int) -> None:
        """Rebuild observation and prompt from a track from now on, as :meth:`recorded` does."""
        for name in _REBUILT:
            self.__dict__.pop(name, None)
        self.__dict__.update(_track=track, _index=index)

    def is_rebuilt_from(self, track: Track, index: int) -> bool:
        """Return whether observation and prompt are those of this place in a track."""
        own = self.__dict__
        held_there = own.get("_track") is track and own.get("_index") == index
        return held_there and "observation" not in own and "prompt_token_ids" not in own


_REBUILT = ("observation", "prompt_token_ids")
_CONTAINERS: dict[str, type] = {"info": dict, "tool_calls": list, "metadata": dict}
