"""One worker as the evaluation sees it: :class:`EvaluationWorker`."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem_eval.runs.workers.messages import message, receive
from gem_processes.fork_server import exit_in_words, warm_python
from gem_rollout import EpisodeRequest, LiveEpisode
from gem_rollout.trajectory import EpisodeKey

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["EvaluationWorker"]

_LOOK = 0.02  # seconds between two looks at a process that ends
_ENDS_IN = 5.0  # seconds that a killed process may need


class EvaluationWorker:
    """The process of a worker, the channel to it, and the episodes that it has.

    It is in a session of its own: Ctrl-C at a terminal reaches the evaluation alone, and one signal ends the worker
    with the processes that it has started. It also ends when this process does, in whichever way.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        lifeline: int,
        journal: Path,
    ) -> None:
        self.journal = journal
        self.playing: dict[EpisodeKey, EpisodeRequest] = {}
        """What it has been given and has not finished."""
        self.kept: list[EpisodeKey] = []
        """Episodes that are written, for its next message."""
        self.live: list[LiveEpisode] = []
        self.waiting: Counter[str] = Counter()
        self.limit: dict[str, Any] = {}
        self.is_ready = False
        self.is_read = True
        """Whether somebody waits for its messages."""
        self.silent = 0
        """How often somebody looked since it last said something."""
        self._process = process
        self._reader, self._writer = reader, writer
        self._lifeline = lifeline

    @classmethod
    async def start(cls, journal: Path) -> Self:
        """Start a process.

        Raises:
            OSError: if the system has no room for one.
        """
        channel, theirs = socket.socketpair()
        read_end, lifeline = os.pipe()
        try:
            descriptors = [theirs.fileno(), read_end]
            process = subprocess.Popen(  # noqa: S603  # Python itself
                [*warm_python("gem_eval.runs.workers.main"), *map(str, descriptors)],
                pass_fds=descriptors,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        except BaseException:
            channel.close()
            os.close(lifeline)
            raise
        finally:
            theirs.close()
            os.close(read_end)
        reader, writer = await asyncio.open_connection(sock=channel)
        return cls(process, reader, writer, lifeline, journal)

    @property
    def pid(self) -> int:
        """The process id of the worker."""
        return self._process.pid

    def send(self, header: dict[str, Any]) -> None:
        """Send a message; a worker that has ended gets none."""
        if self.kept:
            header["kept"], self.kept = self.kept, []
        if not self._writer.is_closing():
            self._writer.write(message(header))

    async def receive(self) -> tuple[dict[str, Any], bytes] | None:
        """Return the next message; None after the last one."""
        received = await receive(self._reader)
        self.silent = 0
        if received is not None and "state" in received[0]:
            state = received[0]["state"]
            self.live = [LiveEpisode(EpisodeKey(*item[:3]), *item[3:]) for item in state["live"]]
            self.waiting = Counter(state["waiting"])
            self.limit = state["limit"]
        return received

    def finish(self) -> None:
        """Ask it to deliver what is finished, and to end."""
        with suppress(OSError):
            if self._writer.can_write_eof() and not self._writer.is_closing():
                self._writer.write_eof()

    def kill(self) -> None:
        """End the process and those that it has started, at once."""
        # Not reaped yet, so that nothing else has its number.
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def has_ended(self) -> bool:
        """Return whether the process is over; a copy of its channel may be open in processes that it has started."""
        if self._process.returncode is not None:
            return True
        if not hasattr(os, "waitid"):  # macOS, up to Python 3.12
            return self._process.poll() is not None
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def hang_up(self) -> None:
        """Close the channel at once; :meth:`receive` then returns None."""
        self._writer.transport.abort()

    async def end(self, patience: float) -> str:
        """Close the channel, wait for the end of the process, and return in words how it ended.

        Args:
            patience: seconds after which it is killed.
        """
        self.hang_up()
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1
        loop = asyncio.get_running_loop()
        try:
            until = loop.time() + patience
            while not self.has_ended() and loop.time() < until:
                await asyncio.sleep(_LOOK)
        finally:
            self.kill()
            with suppress(subprocess.TimeoutExpired):  # in the kernel, which nothing can end
                self._process.wait(_ENDS_IN)
        return exit_in_words(self._process.returncode)
