"""An interpreter that keeps its state between calls: :class:`Session`."""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from array import array
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from gem.errors import ArgumentTypeError
from gem_tools.sandbox.errors import SandboxError
from gem_tools.sandbox.execution import Execution
from gem_tools.sandbox.inside import wire
from gem_tools.sandbox.limits import Limits
from gem_tools.sandbox.running import Running, program_file, text_file

if TYPE_CHECKING:
    from gem_tools.sandbox.launcher import Launcher

__all__ = ["Session"]

_ENDED = "The session has ended; its variables, imports and functions are gone."
_ENDED_BEFORE = (
    "The session has ended since the last call; its variables, imports and functions are gone. "
    "This call was not executed; the next one begins a new session."
)
_BROKE = (
    "The session has ended, because its process answered what nobody asked; its variables, imports and functions are "
    "gone. This call was not executed; the next one begins a new session."
)
_FAREWELL = 0.1
"""Seconds that a process may need to end after it closed the channel of its session."""


class Session:
    """Calls that share variables, imports, functions and the scratch folder; only one runs at a time.

    A call that runs into a limit, or whose process ends, loses the session's state and reports that
    (:attr:`Execution.session_ended`); the next call begins with a new state. A call that finds the process dead, for
    example because a thread ended it between two calls, is not executed and reports the same. ``sys.exit`` ends a call
    only.
    """

    def __init__(self, launcher: Callable[[str], Launcher], limits: Limits) -> None:
        self.limits = limits
        self._launcher = launcher
        self._running: Running | None = None
        self._channel: socket.socket | None = None
        self._owner = os.getpid()
        self._closed = False
        self._lock = threading.Lock()

    def run(self, code: str, *, stdin: str = "", prelude: str = "") -> Execution:
        """Run code after the earlier calls. Until the next call, the session's processes and threads are stopped.

        Args:
            code: the code, as for :meth:`gem_tools.sandbox.Sandbox.run`.
            stdin: the standard input of this call.
            prelude: code that runs first.

        Raises:
            SandboxError: if the session is closed, or no sandbox is available.
        """
        if not isinstance(code, str):
            raise ArgumentTypeError(f"code must be a str, got {type(code).__name__}")
        with self._lock:
            if self._closed:
                raise SandboxError("this session is closed; open another one")
            if self._owner != os.getpid():
                self._end()
                self._owner = os.getpid()
            channel, running = self._started(prelude + code)
            running.resume()
            files = [program_file(code, prelude), text_file(stdin.encode("utf-8", "replace"))]
            try:
                unasked = _unasked(channel)
                if unasked is not None:
                    return self._died_before(running, bool(unasked))
                # Without blocking: a process that reads its calls never has one waiting when the next one comes.
                rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", files))
                channel.sendmsg([b"c"], [rights], socket.MSG_DONTWAIT)  # socket.send_fds ignores such flags
            except OSError as error:
                return self._died_before(running, isinstance(error, BlockingIOError))
            finally:
                for file in files:
                    os.close(file)
            return self._wait(channel, running)

    def close(self) -> None:
        """End the interpreter. A second call does nothing."""
        with self._lock:
            self._closed = True
            self._end()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        self._end()

    def _started(self, code: str) -> tuple[socket.socket, Running]:
        if self._channel is None or self._running is None:
            return self._fresh(code)
        return self._channel, self._running

    def _fresh(self, code: str) -> tuple[socket.socket, Running]:
        self._end()
        launcher = self._launcher(code)
        launcher.check()
        ours, theirs = socket.socketpair()
        nothing = os.open(os.devnull, os.O_RDONLY)
        try:
            running = launcher.start(self.limits, (nothing, theirs.fileno()), session=True)
        except BaseException:
            ours.close()
            raise
        finally:
            os.close(nothing)
            theirs.close()
        self._channel, self._running = ours, running
        return ours, running

    def _wait(self, channel: socket.socket, running: Running) -> Execution:
        started = time.monotonic()
        deadline = started + self.limits.seconds
        timed_out = stopped = False
        running.begin_call()
        poll = select.poll()
        for descriptor in (channel.fileno(), *running.descriptors):
            poll.register(descriptor, select.POLLIN)
        while True:
            left = None if stopped else max(0.0, deadline - time.monotonic()) * 1000 + 1
            events = [descriptor for descriptor, _ in poll.poll(left)]
            if running.report.fileno() in events:
                return self._died(running, started, timed_out)
            if channel.fileno() in events:
                try:
                    exit_code = wire.unpack_call(channel.recv(64))
                except (OSError, ValueError):
                    # The process is ending, or it has manipulated the channel and will be killed.
                    poll.unregister(channel)
                    deadline = min(deadline, time.monotonic() + _FAREWELL)
                else:
                    running.read_all()
                    running.pause()
                    return running.result(wire.BY_ITSELF, exit_code, time.monotonic() - started, 0.0)
            for descriptor in set(running.descriptors[1:]).intersection(events):
                if not running.read(descriptor):
                    poll.unregister(descriptor)
            if time.monotonic() >= deadline and not stopped:
                stopped = True
                timed_out = deadline >= started + self.limits.seconds
                running.stop()

    def _died_before(self, running: Running, broke_protocol: bool) -> Execution:
        """Return the result of a call that found its process dead, or ends it for what it wrote unasked."""
        started = time.monotonic()
        running.stop()  # it may have closed the channel only
        ended = select.poll()
        ended.register(running.report, select.POLLIN)
        ended.poll()
        told = _BROKE if broke_protocol else _ENDED_BEFORE
        return replace(self._died(running, started, False), stdout="", stderr=f"{told}\n", exit_code=None)

    def _died(self, running: Running, started: float, timed_out: bool) -> Execution:
        done = running.finish()
        self._running = None
        self._end()
        if done is None:
            done = Execution("", "", None, limit="infrastructure")
        return replace(
            done,
            stderr=f"{done.stderr}{_separator(done.stderr)}{_ENDED}\n",
            exit_code=None if timed_out else done.exit_code,
            timed_out=timed_out or done.timed_out,
            limit="seconds" if timed_out else done.limit,
            seconds=time.monotonic() - started,
            session_ended=True,
        )

    def _end(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._running is not None:
            self._running.close()
            self._running = None


def _unasked(channel: socket.socket) -> bytes | None:
    """Return what can be read between two calls: nothing at the channel's end, or of a forged answer; else None."""
    try:
        return channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _separator(text: str) -> str:
    return "\n" if text and not text.endswith("\n") else ""
