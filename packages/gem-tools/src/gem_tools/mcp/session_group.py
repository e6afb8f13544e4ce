"""Tools that share their sessions with servers, and the user who answers in these."""

from __future__ import annotations

from typing import Any

from gem_tools.mcp.config import ServerConfig
from gem_tools.mcp.simulated_user import Answers, ElicitedUser

__all__ = ["SessionGroup"]


class SessionGroup:
    """Tools with their own sessions, one with each server. A deep copy is another group.

    Args:
        answers: answers the questions of these servers; None for sessions without a user.
    """

    def __init__(self, answers: Answers | None = None) -> None:
        self.used: set[ServerConfig] = set()
        """The servers called in this episode."""
        self.user = None if answers is None else ElicitedUser(answers)

    def __deepcopy__(self, memo: dict[int, Any]) -> SessionGroup:
        return SessionGroup(*self.__reduce__()[1])

    def __reduce__(self) -> tuple[Any, ...]:
        return SessionGroup, (None if self.user is None else self.user.source,)
