"""What can go wrong with an agent program that is not the agent's doing: :class:`HarnessError`."""

from __future__ import annotations

from gem.errors import GemError

__all__ = ["HarnessError"]


class HarnessError(GemError, RuntimeError):
    """An agent program that cannot be installed or started, or that was ended from outside.

    The episode's outcome is then unknown: nothing was learned about the agent.

    Attributes:
        failure_kind: ``harness_not_started`` or ``harness_killed``.
        failure_source: ``environment``, since neither the agent nor its model is at fault.
    """

    failure_source = "environment"

    def __init__(self, message: str, kind: str = "harness_not_started") -> None:
        super().__init__(message)
        self.failure_kind = kind
