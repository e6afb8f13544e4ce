"""What is a fault of foreign code: exceptions that are not meant for the program around it, and results that say so.

Environments, tools and policies may raise more than ``Exception``: ``SystemExit``, an ``asyncio.CancelledError`` that a
client library leaks, a panic of a Rust extension. Each ends its own episode and no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

__all__ = ["INTERRUPTS", "Interruption", "is_fault", "suppress_faults"]


class Interruption(BaseException):
    """Raised into foreign code by GEM itself, to get it back."""


INTERRUPTS = (KeyboardInterrupt, GeneratorExit, Interruption)
"""Exceptions that pass; every other one is a fault of the code that raised it."""


def is_fault(terminated: bool, truncated: bool, info: Mapping[str, Any]) -> bool:
    """Return whether a step reports a fault of the environment: ``info["error"]``, truncated and not terminated.

    With ``terminated`` the environment has decided the task, and ``error`` is a note of its own.
    """
    return bool(truncated) and not terminated and info.get("error") is not None


@contextmanager
def suppress_faults() -> Iterator[None]:
    """Drop whatever the code below raises, but for interrupts."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, INTERRUPTS):
            raise
