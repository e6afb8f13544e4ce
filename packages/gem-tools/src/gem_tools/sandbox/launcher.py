"""What starts executions: :class:`Launcher`, with a jail around them or without."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from gem_tools.sandbox.limits import Limits
from gem_tools.sandbox.running import Running

__all__ = ["Launcher"]


class Launcher(ABC):
    """Starts executions; safe from any thread."""

    @abstractmethod
    def start(self, limits: Limits, descriptors: Sequence[int], *, session: bool = False) -> Running:
        """Start an execution.

        Args:
            limits: of it. A session's own time is unlimited; its calls are timed one by one.
            descriptors: program and standard input; for a session standard input alone, and the channel.
            session: whether it is one.

        Raises:
            SandboxError: if no execution can be started.
        """

    def check(self) -> None:  # noqa: B027  # without a jail nothing can be missing
        """Start what executions need if it does not run yet.

        Raises:
            SandboxError: if it cannot be had.
        """

    @property
    def generation(self) -> int:
        """Counts the processes that executions were forked from."""
        return 0

    def discard(self, generation: int) -> None:  # noqa: B027  # the same
        """Kill what executions are forked from, unless it is newer; the next execution starts another."""
