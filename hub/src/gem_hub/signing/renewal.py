"""Keeps the signatures of a hub from expiring for as long as it is served."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from gem_hub.background import BackgroundWork
from gem_hub.store import Store

__all__ = ["SignatureRenewal"]

_LOOK_SECONDS = 3600.0


class SignatureRenewal(BackgroundWork):
    """Signs a hub anew when it begins and once a day.

    It asks the signed files for their age, so that of several servers of one hub one renews them. A hub that is signed
    later is renewed from then on.

    Args:
        store: the hub, which may have no keys.
        report: receives a sentence on each failure.
        elsewhere: whether another machine may hold the online key; what that one signs is no concern of this one.
        others: returns further hubs that are served beside it.
        clock: the time, in seconds since the epoch.
    """

    thread_name = "signatures"

    def __init__(
        self,
        store: Store,
        report: Callable[[str], None] = lambda _: None,
        *,
        elsewhere: bool = False,
        others: Callable[[], Iterable[Store]] = tuple,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self._store = store
        self._begun = False
        self._report = report
        self._elsewhere = elsewhere
        self._others = others
        self._clock = clock

    def renew(self, *, always: bool = False) -> bool:
        """Sign the hubs anew whose signatures are a day old; return whether any were made.

        Args:
            always: sign them however young they are, which also signs a change that was cut off before its signature.
        """
        renewed = [self._renew(store, always) for store in (self._store, *self._others())]
        return any(renewed)

    def _renew(self, store: Store, always: bool) -> bool:
        try:
            if not store.is_signed:
                return False
            from gem_hub.signing.online import is_due, key_path  # heavy, and nothing without keys needs it

            path, now = key_path(store.files), self._clock()
            if self._elsewhere and (path is None or not path.is_file()):
                return False
            return (always or is_due(store.files, now)) and store.sign(now)
        except Exception as error:  # whatever is wrong with the hub or its key, what it has is still served
            self._report(f"the hub's signatures could not be renewed: {error or type(error).__name__}")
            return False

    def work_and_pause(self) -> float:
        self.renew(always=not self._begun)
        self._begun = True
        return _LOOK_SECONDS
