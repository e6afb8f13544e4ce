"""Objects that a worker keeps for a client: :class:`HeldObject`, which ends only when no call uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Condition, Lock
from typing import Generic, TypeVar

from gem.errors import GemError
from gem_terminal.errors import EngineError

__all__ = ["HeldObject"]

_T = TypeVar("_T")
_HURRIES = 1.0
"""Seconds after which calls that go on are hurried once more."""


class HeldObject(Generic[_T]):
    """A container, channel or snapshot under the number that its client knows.

    The descriptors of one client's object must not be used after they are closed: another client's may have their
    numbers by then. So :meth:`end` waits for the calls under way, whatever a hostile client sends at the same time.

    Args:
        value: the object.
        what: names it in errors.
    """

    def __init__(self, value: _T, what: str) -> None:
        self.alone = Lock()
        """For objects that one call at a time may use."""
        self._value = value
        self._what = what
        self._uses = 0
        self._ended = False
        self._changed = Condition()

    @contextmanager
    def used(self) -> Iterator[_T]:
        """The object, during a call.

        Raises:
            EngineError: if it has ended.
        """
        with self._changed:
            if self._ended:
                raise EngineError(f"{self._what} was removed")
            self._uses += 1
        try:
            yield self._value
        finally:
            with self._changed:
                self._uses -= 1
                self._changed.notify_all()

    def end(self, close: Callable[[_T], object], hurry: Callable[[_T], object] | None = None) -> None:
        """Let no further call use the object, wait for those under way, and close it. A second call does nothing.

        Args:
            close: closes the object.
            hurry: makes calls under way end soon, if there are any.
        """
        with self._changed:
            if self._ended:
                return
            self._ended = True
        pause = 0.0
        while not self._is_idle(pause):  # a call may have started a process a moment after the others were killed
            if hurry is not None:
                with suppress(GemError, OSError):  # it has died, which the calls notice
                    hurry(self._value)
            pause = _HURRIES
        close(self._value)

    def _is_idle(self, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not self._uses, seconds)
