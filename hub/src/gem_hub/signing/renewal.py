"""Keeps the signatures of a hub from expiring for as long as it is served."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from gem_hub.store import Store

__all__ = ["SignatureRenewal"]

_LOOK_SECONDS = 3600.0
_STOP_SECONDS = 10.0
"""The time in which a signature that is being made is completed."""


class SignatureRenewal:
    """Signs a hub anew when it begins and once a day, in a thread of its own; a context manager.

    It asks the signed files for their age, so that of several servers of one hub one renews them. A hub that is signed
    later is renewed from then on.

    Args:
        store: the hub, which may have no keys.
        report: receives a sentence on each failure.
        elsewhere: whether another machine may hold the online key; what that one signs is no concern of this one.
        clock: the time, in seconds since the epoch.
    """

    def __init__(
        self,
        store: Store,
        report: Callable[[str], None] = lambda _: None,
        *,
        elsewhere: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._report = report
        self._elsewhere = elsewhere
        self._clock = clock
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="signatures", daemon=True)

    def __enter__(self) -> SignatureRenewal:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join(_STOP_SECONDS)

    def renew(self, *, always: bool = False) -> bool:
        """Sign the hub anew if its signatures are a day old; return whether they were made.

        Args:
            always: sign them however young they are, which also signs a change that was cut off before its signature.
        """
        try:
            if not self._store.is_signed:
                return False
            from gem_hub.signing.online import is_due, key_path  # heavy, and nothing without keys needs it

            path, now = key_path(self._store.files), self._clock()
            if self._elsewhere and (path is None or not path.is_file()):
                return False
            return (always or is_due(self._store.files, now)) and self._store.sign(now)
        except Exception as error:  # whatever is wrong with the hub or its key, what it has is still served
            self._report(f"the hub's signatures could not be renewed: {error or type(error).__name__}")
            return False

    def _run(self) -> None:
        self.renew(always=True)
        while not self._stop.wait(_LOOK_SECONDS):
            self.renew()
