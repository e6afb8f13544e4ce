"""The interface that starts executions with or without a jail: :class:`Launcher`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from gem_tools.sandbox.limits import Limits
from gem_tools.sandbox.running import Running

__all__ = ["Launcher"]


class Launcher(ABC):
    """Starts executions; safe to use from any thread."""

    tier: str
    """The tier of its executions; see :data:`gem_tools.sandbox.guarantees.TIERS`."""

    @abstractmethod
    def start(self, limits: Limits, descriptors: Sequence[int], *, session: bool = False) -> Running:
        """Start an execution.

        Args:
            limits: the limits of the execution. A session has no time limit, but each of its calls has one.
            descriptors: program and standard input; for a session, standard input and the channel.
            session: whether the execution is a session.

        Raises:
            SandboxError: if no execution can be started.
        """

    @property
    def memory_limited_by(self) -> str:
        """What limits the memory of an execution; see :attr:`gem_tools.sandbox.Sandbox.memory_limited_by`.

        Raises:
            SandboxError: if no execution can be started.
        """
        return "process"

    def check(self) -> None:  # noqa: B027  # a launcher without a jail needs nothing
        """Start the process that executions are forked from, unless it runs.

        Raises:
            SandboxError: if it cannot start.
        """

    @property
    def generation(self) -> int:
        """Return the number of processes so far that executions were forked from."""
        return 0

    def twin(self) -> Launcher:
        """Return a launcher of the same kind with processes of its own; the caller closes it."""
        return self

    def close(self) -> None:  # noqa: B027  # the same
        """End what executions are forked from, and all executions."""

    def discard(self, generation: int) -> None:  # noqa: B027  # the same
        """Kill the process that executions are forked from, unless it is newer; the next execution starts another."""
