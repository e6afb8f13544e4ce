"""The interface of a simulated user: :class:`SimulatedUser`, and what it says: :class:`UserReply`."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

__all__ = ["SimulatedUser", "UserReply"]


class UserReply(NamedTuple):
    """What the user says to a message."""

    text: str
    ends: bool = False
    """Whether the user ends the conversation."""
    fault: str = ""
    """If the user, not the agent, has spoiled the episode, the reason; it is over then."""
    fault_kind: str = ""
    """The kind of that fault, see :data:`gem_rollout.simulated_people.faults.FAULTS`."""


class SimulatedUser(Protocol):
    """Talks to the agent."""

    def opening(self) -> str:
        """Return the first message."""

    def reply(self, message: str) -> UserReply:
        """Return the answer to a message of the agent."""

    def get_state(self) -> dict[str, Any]:
        """Return what the user remembers, JSON values."""

    def set_state(self, state: dict[str, Any]) -> None:
        """Remember what ``get_state`` returned.

        Raises:
            ValueError, KeyError, TypeError: for anything else.
        """
