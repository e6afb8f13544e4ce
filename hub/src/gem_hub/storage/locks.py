"""The lock that every change of a hub takes, and the change that its holder has decided on."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from gem_hub.errors import HubRefusal

__all__ = ["LEASE_SECONDS", "PATIENCE", "HeldLock", "HubLock", "refused_by_lock"]

PATIENCE = 120.0
"""The time limit in seconds for waiting on other processes that change the same hub."""


LEASE_SECONDS = 30.0
"""The seconds for which the lock of a bucket holds without a renewal."""


class HeldLock(Protocol):
    """A lock that this thread holds."""

    @property
    def intent(self) -> bytes | None:
        """What a holder decided on and did not complete; None if there is nothing."""

    def decide(self, intent: bytes) -> None:
        """Note the next change. From then on each holder completes it, whatever becomes of this one.

        Raises:
            HubError: if this process no longer holds the lock; then nothing is decided.
        """

    def complete(self) -> None:
        """Note that the change has been made with all that follows from it."""


class HubLock(Protocol):
    """A lock for the changes of one hub, between threads, processes and, in a bucket, machines."""

    @property
    def outlives_holders(self) -> bool:
        """Whether another may get the lock while a holder that stalled believes to have it still."""

    def held(self) -> AbstractContextManager[HeldLock]:
        """Wait for the lock and hold it for the duration of a ``with`` statement.

        Raises:
            HubRefusal: if others hold it for longer than :data:`PATIENCE`.
        """


def refused_by_lock(address: str) -> HubRefusal:
    """Return the error of a lock that others hold for too long."""
    return HubRefusal(f"{address}: other processes have been changing this hub for {PATIENCE:.0f} seconds; try again")
