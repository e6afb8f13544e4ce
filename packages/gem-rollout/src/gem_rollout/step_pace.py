"""Which environments may be stepped on the event loop: :class:`StepPace`.

A trip to a thread and back costs more than the step of a game, and makes its episode wait for those of all others that
are due. The steps of tools, sandboxes and servers, however, belong into threads, where they may wait. So every
environment begins in threads, and one whose steps have all been quick goes on where its episode runs, until one of its
steps takes longer.
"""

from __future__ import annotations

__all__ = ["StepPace"]

_QUICK = 0.0005  # seconds that a step may take to count as quick
_TRUSTED = 32  # quick steps in a row after which steps leave the threads
_LONG = 0.02  # seconds on the loop after which they return to the threads for good


class StepPace:
    """How long the steps of one environment id take; its methods may be called from any thread."""

    __slots__ = ("_barred", "_quick")

    def __init__(self) -> None:
        self._quick = 0
        self._barred = False

    @property
    def trusted(self) -> bool:
        """Whether the next step may run on the event loop."""
        return self._quick >= _TRUSTED

    def note(self, seconds: float) -> None:
        """Note a step that took so long in a thread."""
        if seconds > _QUICK:
            self._quick = 0
        elif not self._barred:
            self._quick += 1

    def note_on_loop(self, seconds: float) -> None:
        """Note a step that took so long on the event loop."""
        if seconds > _QUICK:
            self._quick = 0
            self._barred = self._barred or seconds > _LONG
