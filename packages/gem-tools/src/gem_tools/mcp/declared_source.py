"""What answers the requests of servers, declared for all episodes or offered by each: :class:`DeclaredSource`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, ClassVar

from gem.errors import ToolError
from gem.policies import Policy
from gem.tools import FromEpisode
from gem.tools.event_loop import completed

__all__ = ["DeclaredSource", "awaited", "is_acting"]


class DeclaredSource:
    """A source of answers in one environment.

    Args:
        source: what answers.
        check: raises an error for what cannot answer.
    """

    role: ClassVar[str]
    """What it is to servers, and the value of the episode that it is by default."""

    def __init__(self, source: Any, check: Callable[[object], None]) -> None:
        check(source)
        self.source = source
        self._check = check
        self._current: Any = None if isinstance(source, FromEpisode) else source

    def begin(self, values: Mapping[str, Any]) -> None:
        """Begin an episode.

        Args:
            values: those of the episode; see :class:`gem.tools.EpisodeValues`.

        Raises:
            ToolError: if the environment must offer the source, and does not.
        """
        if not isinstance(self.source, FromEpisode):
            return
        name = self.source.name or self.role
        if name not in values:
            raise ToolError(
                f"the {self.role} of MCP servers is the value {name!r} of the episode, which the environment offers "
                "in the mapping episode_values"
            )
        current = values[name]
        if current is not None:
            self._check(current)
        self._current = current


def is_acting(source: object) -> bool:
    """Return whether something is a policy that chooses actions one by one."""
    return isinstance(source, Policy) and type(source).act is not Policy.act


def awaited(value: Any) -> Any:
    """Return a value, or what a coroutine returns."""
    return completed(value) if isinstance(value, Coroutine) else value
