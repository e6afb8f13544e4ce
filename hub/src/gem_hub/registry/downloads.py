"""Counts of downloads: how many clients fetched a release on a day, and never who they were.

What is counted is a whole answer to an installer. Installers are recognised by an allow-list of their names, because
robots have too many; so browsers, mirrors and ``curl`` do not count. One client counts once a day for a file. To see
that it has come before, a process keeps keyed hashes of network and file in its memory: the key is random, is written
nowhere, and is thrown away with the hashes when the day ends (UTC). Nothing about a client reaches the database.

What is shown is coarse as well, so that nobody can watch a single user: whole days that are over, rounded down to tens,
and nothing below ten.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from sqlalchemy import BigInteger, Column, Integer, String, Table, select

from gem_hub.registry.database import Database
from gem_hub.registry.tables import METADATA

__all__ = ["GRAIN", "DownloadCounter", "downloads", "shown"]

GRAIN = 10
"""Counts are shown in multiples of this, and smaller ones not at all."""

downloads = Table(
    "downloads",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("version", String(200), primary_key=True),
    Column("day", Integer, primary_key=True),
    Column("amount", BigInteger, nullable=False),
)
"""``day`` counts from 1970-01-01."""

DAY = 24 * 3600
_INSTALLERS = re.compile(r"(pip|uv|poetry|pdm|pipenv|hatch|pixi|rye|gem-hub-client)/\d")
_WHEEL = re.compile(r"/files/[0-9a-f]{2}/[0-9a-f]{64}/([^/?]+\.whl)")
_FLUSH_SECONDS = 30.0
_MOST_CLIENTS = 500_000
"""Hashes that a process keeps in a day, some 40 MB; what comes after them is not counted."""


class DownloadCounter:
    """Counts downloads in memory, and adds them to the database from time to time.

    A process that is killed loses the counts of its last half minute. Several processes of one registry do not know
    each other's clients, so that one client counts once for each of them.

    Args:
        database: the registry's database.
        clock: returns the time in seconds since 1970.
    """

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock
        self._lock = threading.Lock()
        self._day = -1
        self._key = b""
        self._seen: set[bytes] = set()
        self._waiting: Counter[tuple[str, str, int]] = Counter()
        self._flushed = clock()

    def saw(self, target: str, status: int, agent: str, network: str) -> None:
        """Count an answer to a GET request, if it is an installer's first download of a file in its network today.

        Args:
            target: the path of the request.
            status: the status of the answer.
            agent: the client's ``User-Agent``.
            network: the client's address, as quotas count it.
        """
        match = _WHEEL.fullmatch(target)
        if match is None or status != 200 or _INSTALLERS.match(agent) is None:
            return
        try:
            name, version, _, _ = parse_wheel_filename(match[1])
        except InvalidWheelFilename:
            return
        with self._lock:
            now = self._clock()
            day = int(now // DAY)
            if day != self._day:
                self._day, self._key, self._seen = day, secrets.token_bytes(32), set()
            client = hashlib.blake2b(f"{network}\0{target}".encode(), key=self._key, digest_size=16).digest()
            if client in self._seen or len(self._seen) >= _MOST_CLIENTS:
                return
            self._seen.add(client)
            self._waiting[str(name), str(version), day] += 1
            if now - self._flushed >= _FLUSH_SECONDS:
                self._flush(now)

    def flush(self) -> None:
        """Add what was counted to the database."""
        with self._lock:
            self._flush(self._clock())

    def of(self, name: str) -> list[dict[str, Any]]:
        """Return what is shown of a package's downloads, newest day first: ``day``, ``version`` and ``downloads``."""
        today = int(self._clock() // DAY)
        query = (
            select(downloads)
            .where(downloads.c.name == name, downloads.c.day < today)
            .order_by(downloads.c.day.desc(), downloads.c.version)
        )
        self.flush()
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        return [
            {"day": time.strftime("%Y-%m-%d", time.gmtime(row.day * DAY)), "version": row.version, "downloads": amount}
            for row in rows
            if (amount := shown(row.amount))
        ]

    def _flush(self, now: float) -> None:
        waiting, self._waiting, self._flushed = self._waiting, Counter(), now
        if not waiting:
            return
        with self._database.change() as connection:
            for (name, version, day), amount in sorted(waiting.items()):
                key = {"name": name, "version": version, "day": day}
                self._database.add_to_counter(connection, downloads, key, "amount", amount)


def shown(amount: int) -> int:
    """Return what is shown of a count: rounded down to tens, and 0 for nothing."""
    return amount - amount % GRAIN
