"""Keeps the pages of a hub for as long as it is served, so that they never show less than the hub has."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from gem_hub.background import BackgroundWork
from gem_hub.catalogue import read_feed
from gem_hub.site.build import details_of, package_page
from gem_hub.site.text import readable
from gem_hub.site.views import view_of
from gem_hub.site.write import write_site
from gem_hub.store import Store

__all__ = ["SiteRefresher"]

_LOOK_SECONDS = 1.0
_SHARE = 20
"""The lists of all packages take at most this part of the time: after a minute's work they rest for twenty."""


class SiteRefresher(BackgroundWork):
    """Writes all pages when it begins, and later those of what has changed since.

    Args:
        store: the hub.
        report: receives a sentence on each failure.
        clock: the time in seconds, of any origin.
    """

    thread_name = "pages"

    def __init__(
        self,
        store: Store,
        report: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._store = store
        self._report = report
        self._clock = clock
        self._serial = -1
        self._lists_are_due = False
        self._rest_until = 0.0

    def refresh(self) -> None:
        """Write the pages of packages that have changed, and of all packages together as often as they may.

        Raises:
            HubError: if the hub is damaged.
        """
        root = json.loads(self._store.files.read("root.json") or b"{}")
        serial = int(root.get("serial", 0))
        if serial != self._serial:
            if self._serial >= 0:
                for line in read_feed(root, self._store.files.read, min(self._serial, serial)):
                    self._write(str(line["name"]))
            self._serial, self._lists_are_due = serial, True
        began = self._clock()
        if self._lists_are_due and began >= self._rest_until:
            write_site(self._store.truth)
            self._lists_are_due = False
            self._rest_until = began + (self._clock() - began) * _SHARE

    def _write(self, name: str) -> None:
        for document in details_of([self._store.existing(name)]):
            self._store.files.replace(f"p/{name}/index.html", package_page(view_of(readable(document))))

    def work_and_pause(self) -> float:
        try:
            self.refresh()
        except Exception as error:  # whatever is wrong with the hub, what it has is still served
            self._report(f"the hub's pages could not be written: {error or type(error).__name__}")
        return _LOOK_SECONDS
