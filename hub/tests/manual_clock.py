"""A clock for registries, which stands still until a test moves it."""

from __future__ import annotations


class ManualClock:
    """Returns its time when it is called.

    Args:
        now: the time that it begins with, in seconds.
    """

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
