"""Which exceptions of foreign code are faults of that code, and which are meant for the program around it.

Environments, tools and policies may raise more than ``Exception``: ``SystemExit``, an ``asyncio.CancelledError`` that a
client library leaks, a panic of a Rust extension. Each ends its own episode and no other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["INTERRUPTS", "Interruption", "suppress_faults"]


class Interruption(BaseException):
    """Raised into foreign code by GEM itself, to get it back."""


INTERRUPTS = (KeyboardInterrupt, GeneratorExit, Interruption)
"""Exceptions that pass; every other one is a fault of the code that raised it."""


@contextmanager
def suppress_faults() -> Iterator[None]:
    """Drop whatever the code below raises, but for interrupts."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, INTERRUPTS):
            raise
