"""Counters that limit what one account and one network address may do in a minute, an hour or a day."""

from __future__ import annotations

import time
from collections.abc import Callable
from http import HTTPStatus

from sqlalchemy import delete

from gem_hub.registry.database import Database
from gem_hub.registry.problems import Problem
from gem_hub.registry.tables import usage

__all__ = ["DAY", "HOUR", "MINUTE", "UsageCounters"]

MINUTE, HOUR, DAY = 60, 3600, 86400


class UsageCounters:
    """Counts in the database, so that all processes of a registry share the limits.

    Args:
        database: the registry's database.
        clock: returns the time in seconds since 1970.
    """

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def spend(self, kind: str, who: str, limit: int, seconds: int, described: str, amount: int = 1) -> None:
        """Count something, also if it is then refused.

        Args:
            kind: what is counted, such as ``"upload"``.
            who: the account or address.
            limit: the largest amount in a period.
            seconds: the length of a period.
            described: the same in words, such as ``"uploads a day"``.
            amount: how much to count.

        Raises:
            Problem: 429 if the limit is exceeded, with the seconds until the next period.
        """
        now = int(self._clock())
        period = now - now % seconds
        with self._database.change() as connection:
            spent = self._database.add_to_counter(
                connection, usage, {"what": f"{kind}:{who}"[:120], "period": period}, "amount", amount
            )
        if spent > limit:
            wait = period + seconds - now
            raise Problem(
                HTTPStatus.TOO_MANY_REQUESTS,
                f"{who} has reached the limit of {limit} {described}; try again in {wait} seconds",
                {"Retry-After": str(wait)},
            )

    def sweep(self) -> None:
        """Remove counters of periods that ended over a day ago."""
        with self._database.change() as connection:
            connection.execute(delete(usage).where(usage.c.period < int(self._clock()) - 2 * DAY))
