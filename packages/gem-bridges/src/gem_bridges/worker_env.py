"""Environments whose games are played by a script in a process and a Python of their own."""

from __future__ import annotations

import sys
from abc import ABC
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from gem.arguments import integer, real, string
from gem.errors import LineWorkerError
from gem_bridges.errors import BridgeError
from gem_bridges.replayed_env import ReplayedEnv
from gem_processes import LineWorker

__all__ = ["WorkerEnv", "WorkerGame", "asked"]

_SERVER = Path(__file__).with_name("line_server.py")
_numbers = count()


class WorkerGame:
    """A game in a worker, and what it shows now.

    Args:
        worker: the worker.
        common: fields of every request.
        opening: further fields of the first.
    """

    def __init__(self, worker: LineWorker, common: dict[str, Any], opening: dict[str, Any]) -> None:
        self._worker = worker
        self._common = {"game": next(_numbers), **common}
        self.shown = self._asked("open", **opening)

    def close(self) -> None:
        """Forget the game; raises nothing."""
        if self._worker.is_alive:
            try:
                self._asked("close")
            except BridgeError:
                self._worker.close()

    def _asked(self, op: str, **more: Any) -> dict[str, Any]:
        return asked(self._worker, op, **self._common, **more)


class WorkerEnv(ReplayedEnv, ABC):
    """A foreign environment whose games are played by a script in a worker.

    The worker is killed by ``close`` and after a fault; it ends when this process does.
    """

    vector_mode = "thread"
    script: ClassVar[Path]
    """What plays the games, run by ``line_server.py``."""
    max_answer_bytes: ClassVar[int]
    start_seconds: ClassVar[float] = 0.0
    """Seconds that the worker gets beyond ``timeout``, where its script keeps the time of a server itself."""

    def __init__(self, python: str | None, max_turns: int, timeout: float, max_memory: int) -> None:
        """Check the arguments that all these bridges have.

        Args:
            python: the Python that has the library; None for the one of this process.
            max_turns: turns after which an episode is truncated.
            timeout: seconds for an answer of the worker.
            max_memory: bytes of address space that the worker may have.
        """
        super().__init__(max_turns)
        self.python = sys.executable if python is None else str(Path(string("python", python)).expanduser())
        self.timeout = real("timeout", timeout, minimum=0.01)
        self.max_memory = integer("max_memory", max_memory, minimum=2**28)
        self._worker: LineWorker | None = None

    def close(self) -> None:
        """Kill the worker."""
        self._game = None
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()

    def _running_worker(self) -> LineWorker | None:
        return self._worker if self._worker is not None and self._worker.is_alive else None

    def _new_worker(self) -> LineWorker:
        command = [self.python, "-u", str(_SERVER), str(self.max_memory), str(self.script)]
        try:
            return LineWorker(command, self.timeout + self.start_seconds, self.max_answer_bytes)
        except LineWorkerError as error:
            raise BridgeError(str(error)) from error

    @staticmethod
    def _close_game(game: WorkerGame) -> None:
        game.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_worker": None}


def asked(worker: LineWorker, op: str, **fields: Any) -> dict[str, Any]:
    """Return a worker's answer.

    Raises:
        BridgeError: if it refuses, fails or is late.
    """
    try:
        return worker.request({"op": op, **fields})
    except LineWorkerError as error:
        raise BridgeError(str(error)) from error
