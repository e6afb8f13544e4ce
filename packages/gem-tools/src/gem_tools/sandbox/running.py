"""Running executions from the trainer's side: :class:`Running`, and :func:`watch` for several of them."""

from __future__ import annotations

import contextlib
import os
import select
import socket
from collections.abc import Callable, Iterable, Iterator

from gem_processes.fork_loop import PAUSE, RESUME
from gem_tools.sandbox.execution import Execution
from gem_tools.sandbox.inside import wire
from gem_tools.sandbox.limits import Limits
from gem_tools.sandbox.output import OutputBuffer

__all__ = ["Running", "program_file", "text_file", "watch"]

_CHUNK = 1 << 16
_FLOOD = 256
"""A program is stopped when a stream exceeds its limit by this factor."""
_LIMITS = {
    wire.OUT_OF_TIME: "seconds",
    wire.OUT_OF_CPU: "cpu_seconds",
    wire.OUT_OF_MEMORY: "memory",
    wire.OUT_OF_DISK: "disk",
    wire.OUT_OF_PROCESSES: "processes",
}
"""The reason for the end of an execution → the limit that it reached."""


def text_file(data: bytes) -> int:
    """Return a descriptor that reads these bytes; the caller must close it."""
    descriptor = _memory_file()
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def program_file(code: str, prelude: str = "") -> int:
    """Return a descriptor with a program in the format of :func:`~gem_tools.sandbox.inside.script.read_program`."""
    before = prelude.encode("utf-8", "surrogatepass")
    return text_file(len(before).to_bytes(4, "little") + before + code.encode("utf-8", "surrogatepass"))


def _memory_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("gem-sandbox", os.MFD_CLOEXEC)
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


class Running:
    """A running execution.

    Args:
        report: the channel on which the other side reports the end; closing it ends the execution.
        stdout: the descriptor of the program's output.
        stderr: the descriptor of its error output.
        limits: its limits.
    """

    def __init__(self, report: socket.socket, stdout: int, stderr: int, limits: Limits) -> None:
        self.report = report
        self.limits = limits
        self._order = (stdout, stderr)
        self._stopped = self._is_paused = False
        os.set_blocking(stdout, False)
        os.set_blocking(stderr, False)
        self.begin_call()

    def begin_call(self) -> None:
        """Discard the collected output."""
        self._streams = {descriptor: OutputBuffer(self.limits.output) for descriptor in self._order}
        self._flooded = False

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The descriptors to wait for."""
        return (self.report.fileno(), *self._order)

    def read(self, descriptor: int) -> bool:
        """Read the available bytes of a stream; return False at its end."""
        try:
            data = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return True
        kept = self._streams[descriptor]
        kept.write(data)
        if kept.total > _FLOOD * max(self.limits.output, _CHUNK) and not self._flooded:
            self._flooded = True
            self.stop()
        return bool(data)

    def read_all(self) -> None:
        """Read the available bytes of both streams, up to the flood limit if a process keeps writing."""
        for descriptor in self._order:
            for _ in range(_FLOOD):
                before = self._streams[descriptor].total
                if not self.read(descriptor) or self._streams[descriptor].total == before:
                    break

    def stop(self) -> None:
        """Request the end of the execution; the report follows."""
        if not self._stopped:
            self._stopped = True
            self._send(wire.KILL)

    def pause(self) -> None:
        """Stop the processes of the execution, so that they use no processor while nobody waits for them."""
        self._is_paused = True
        self._send(PAUSE)

    def resume(self) -> None:
        """Let the processes of the execution go on after a pause."""
        if self._is_paused:
            self._is_paused = False
            self._send(RESUME)

    def _send(self, message: bytes) -> None:
        with contextlib.suppress(OSError):  # it has just ended by itself
            self.report.send(message)

    def finish(self) -> Execution | None:
        """Read the report and the rest of the output, and close everything. Returns None if the other side has died."""
        try:
            message = self.report.recv(64)
        except ConnectionResetError:  # the other side ended before it read the stop request; the report may be there
            message = self.report.recv(64)
        self.read_all()
        self.close()
        if not message:
            return None
        reason, status, seconds, cpu_seconds = wire.unpack_answer(message)
        return self.result(reason, status, seconds, cpu_seconds)

    def result(self, reason: int, status: int, seconds: float, cpu_seconds: float) -> Execution:
        """Return the result from the report and the output."""
        stdout, stderr = (self._streams[descriptor] for descriptor in self._order)
        errors = stderr.text()
        limit = _LIMITS.get(reason)
        if limit is None and self._flooded:
            limit = "output"
        elif limit is None and status == 1 and "MemoryError" in errors.rstrip().rpartition("\n")[2].partition(":")[0]:
            limit = "memory"
        return Execution(
            stdout=stdout.text(),
            stderr=errors,
            exit_code=status if reason == wire.BY_ITSELF else None,
            timed_out=reason in (wire.OUT_OF_TIME, wire.OUT_OF_CPU),
            seconds=seconds,
            cpu_seconds=cpu_seconds,
            truncated=stdout.truncated or stderr.truncated,
            limit=limit,
        )

    def close(self) -> None:
        """Close all descriptors. If the program still runs, the other side ends it."""
        for descriptor in self._order:
            os.close(descriptor)
        self.report.close()


def watch(begin: Iterable[Callable[[], Running]], at_once: int, done: Callable[[int, Execution | None], bool]) -> None:
    """Run executions in parallel from this thread, until all have ended or ``done`` returns True.

    Args:
        begin: starts the next execution.
        at_once: the number of parallel executions.
        done: receives the index of an execution and its result, None if the other side died.
    """
    poll = select.poll()
    under_way: dict[int, tuple[int, Running]] = {}
    waiting: Iterator[tuple[int, Callable[[], Running]]] = enumerate(begin)
    count = 0
    try:
        while True:
            while count < at_once:
                following = next(waiting, None)
                if following is None:
                    break
                number, start = following
                running = start()
                count += 1
                for descriptor in running.descriptors:
                    under_way[descriptor] = (number, running)
                    poll.register(descriptor, select.POLLIN)
            if not count:
                return
            # However long it takes: an execution whose report stays open has not ended, and others share its server.
            for descriptor, _ in poll.poll():
                if descriptor not in under_way:
                    continue
                number, running = under_way[descriptor]
                if descriptor != running.report.fileno():
                    if not running.read(descriptor):
                        poll.unregister(descriptor)
                        del under_way[descriptor]
                    continue
                count -= 1
                _forget(running, under_way, poll)
                if done(number, running.finish()):
                    return
    finally:
        for running in {id(running): running for _, running in under_way.values()}.values():
            running.close()


def _forget(running: Running, under_way: dict[int, tuple[int, Running]], poll: select.poll) -> None:
    for descriptor in running.descriptors:
        if under_way.pop(descriptor, None) is not None:
            poll.unregister(descriptor)
