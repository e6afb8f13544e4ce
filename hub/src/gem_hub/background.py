"""Work that goes on beside a server, in threads of its own."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import ClassVar

__all__ = ["BackgroundWork"]


class BackgroundWork(ABC):
    """Work that is repeated for the duration of a block, in a thread of its own; a context manager."""

    thread_name: ClassVar[str]
    stop_seconds: ClassVar[float] = 10.0
    """The time in which a repetition may come to its end when the block does."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._repeat, name=self.thread_name, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join(self.stop_seconds)

    @abstractmethod
    def work_and_pause(self) -> float:
        """Do the work once and return the seconds until the next time. An exception would end the thread."""

    def _repeat(self) -> None:
        while not self._over.wait(self.work_and_pause()):
            pass
