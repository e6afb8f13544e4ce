"""The failure that an exception means: whose fault it is, and a word for it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal, get_args

from gem.vector.env_runner import describe

__all__ = ["EpisodeFailedError", "Source", "environment_fault", "policy_fault"]

_KINDS = {
    "TimeoutError": "timeout",
    "ProcessTimeoutError": "timeout",
    "ProcessCrashError": "crash",
    "NeighbourCrashError": "lost",
    "InvalidResultError": "invalid_result",
}
"""By the type of the exception; all others are ``exception``."""

Source = Literal["agent", "endpoint", "environment"]


class EpisodeFailedError(Exception):
    """An episode cannot go on: what becomes its :class:`gem_rollout.trajectory.Failure`."""

    def __init__(self, source: Source, kind: str, message: str) -> None:
        super().__init__(message)
        self.source = source
        self.kind = kind


def policy_fault(error: BaseException) -> EpisodeFailedError:
    """Return what an exception of a policy means.

    Its attributes ``failure_source`` and ``failure_kind`` decide, where it has them; by default the agent is at
    fault, with ``timeout`` for a ``TimeoutError`` and ``exception`` for all others.
    """
    source: Source = _attribute(error, "failure_source", "agent")
    # By name as well: asyncio's own TimeoutError is another class before Python 3.11.
    timed_out = isinstance(error, TimeoutError) or type(error).__name__ == "TimeoutError"
    kind = _attribute(error, "failure_kind", "timeout" if timed_out else "exception")
    return EpisodeFailedError(source if source in get_args(Source) else "agent", kind, describe(error))


def environment_fault(message: str) -> EpisodeFailedError:
    """Return what ``info["error"]`` means: the type of an exception, and its message."""
    return EpisodeFailedError("environment", _KINDS.get(message.partition(":")[0], "exception"), message)


def _attribute(error: BaseException, name: str, default: Any) -> Any:
    with suppress(Exception):  # the exception's class may define anything
        value = getattr(error, name, None)
        if isinstance(value, str):
            return value
    return default
