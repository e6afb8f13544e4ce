"""Sends what has happened in a hub to its webhooks: in order, at least once, and not for ever.

Each webhook knows the serial up to which it was told. So a process that is killed forgets nothing, and a change that
was made at the command line is told as well. A message that is not taken is sent again after a minute, then after two,
four and so on; after eight attempts, within some two hours, it is given up, and after three of those the webhook is
switched off.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import Row, select, update

from gem_hub.background import BackgroundWork
from gem_hub.catalogue import read_feed
from gem_hub.errors import HubRefusal
from gem_hub.events import Event, Lift, Quarantine, Unyank, Yank
from gem_hub.records import Release
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.webhooks.delivery import deliver
from gem_hub.registry.webhooks.tables import webhooks
from gem_hub.store import Store

__all__ = ["ATTEMPTS", "GIVEN_UP", "WebhookSender", "hub_serial", "pause_after"]

ATTEMPTS = 8
GIVEN_UP = 3

_LOOK_SECONDS = 2.0
_CLAIMED = 120
"""Seconds for which no other process sends to a webhook that this one is sending to."""
_KINDS = {Yank: "yank", Unyank: "unyank", Quarantine: "quarantine", Lift: "release-from-quarantine"}


def hub_serial(store: Store) -> int:
    """Return the serial of the newest change of a hub."""
    return int(json.loads(store.files.read("root.json") or b"{}").get("serial", 0))


def pause_after(attempts: int) -> int:
    """Return the seconds to wait after a number of failed attempts."""
    return int(60 * 2 ** (attempts - 1))


class WebhookSender(BackgroundWork):
    """Sends messages as they come.

    Args:
        services: the registry.
        report: receives a sentence on each failure.
        send: sends one message; :func:`gem_hub.registry.webhooks.delivery.deliver`.
    """

    thread_name = "webhooks"
    stop_seconds = 12.0

    def __init__(
        self,
        services: RegistryServices,
        report: Callable[[str], None] = lambda _: None,
        send: Callable[..., None] = deliver,
    ) -> None:
        super().__init__()
        self._services = services
        self._report = report
        self._send = send

    def work_once(self) -> int:
        """Send to each webhook that is due the next message, if there is one; return the number of attempts."""
        services = self._services
        serial = hub_serial(services.store)
        now = int(services.clock())
        query = select(webhooks).where(webhooks.c.enabled, webhooks.c.due <= now, webhooks.c.position < serial)
        with services.database.read() as connection:
            rows = connection.execute(query.order_by(webhooks.c.id)).all()
        return sum(self._next(row, now, serial) for row in rows if self._claim(row, now))

    def _claim(self, row: Row[Any], now: int) -> bool:
        """Return whether this process alone may send to a webhook now."""
        where = (webhooks.c.id == row.id, webhooks.c.due == row.due, webhooks.c.position == row.position)
        with self._services.database.change() as connection:
            return bool(connection.execute(update(webhooks).where(*where).values(due=now + _CLAIMED)).rowcount)

    def _next(self, row: Row[Any], now: int, serial: int) -> int:
        """Send the oldest change that a webhook was not told; return whether anything was sent."""
        change = min(self._changes(row), key=lambda change: change.serial, default=None)
        if change is None:
            self._note(row, due=now, position=serial)  # records are written before the serial that counts them
            return 0
        body = json.dumps(_message(change), sort_keys=True).encode()
        extra = self._services.settings.webhook_networks
        try:
            self._send(row.url, row.secret, f"{row.id}-{change.serial}", body, now, extra)
        except HubRefusal as refusal:
            self._failed(row, change.serial, now, str(refusal))
        else:
            self._note(row, position=change.serial, attempts=0, given_up=0, due=now, message="")
        return 1

    def _failed(self, row: Row[Any], serial: int, now: int, reason: str) -> None:
        self._report(f"webhook {row.id}: {reason}")
        attempts = row.attempts + 1
        if attempts < ATTEMPTS:
            self._note(row, attempts=attempts, due=now + pause_after(attempts), message=reason[:300])
            return
        given_up = row.given_up + 1
        enabled = given_up < GIVEN_UP
        self._note(row, position=serial, attempts=0, given_up=given_up, due=now, enabled=enabled, message=reason[:300])

    def _note(self, row: Row[Any], **values: Any) -> None:
        with self._services.database.change() as connection:
            connection.execute(update(webhooks).where(webhooks.c.id == row.id).values(values))

    def _changes(self, row: Row[Any]) -> Iterator[Release | Event]:
        """Yield what a webhook is told, after its position."""
        store = self._services.store
        names = [row.package]
        if not row.package:
            root = json.loads(store.files.read("root.json") or b"{}")
            names = [str(line["name"]) for line in read_feed(root, store.files.read, row.position)]
        for name in names:
            package = store.package(name)
            for change in (*package.records, *package.events) if package is not None else ():
                if change.serial > row.position and (isinstance(change, Release) or type(change) in _KINDS):
                    yield change

    def work_and_pause(self) -> float:
        try:
            busy = self.work_once()
        except Exception as error:  # a database that is away must not end the thread
            self._report(f"webhooks: {type(error).__name__}: {error}")
            busy = 0
        return 0.0 if busy else _LOOK_SECONDS


def _message(change: Release | Event) -> dict[str, Any]:
    if isinstance(change, Release):
        kind, more = "publication", {"version": change.version, "sha256": change.sha256}
    else:
        kind = _KINDS[type(change)]
        more = {key: value for key in ("version", "reason") if (value := getattr(change, key, None)) is not None}
    return {
        "format": 1,
        "kind": kind,
        "package": change.name,
        "serial": change.serial,
        "created": change.created,
        **more,
    }
