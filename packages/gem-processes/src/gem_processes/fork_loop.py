"""The server side of a fork server: :class:`ForkLoop` starts children on request and reports their ends.

It has one thread and allocates little, so a fork is fast and safe. It imports only the standard library and its
sibling modules, because servers that fork hostile code run it in a bare interpreter.
"""

from __future__ import annotations

import json
import math
import os
import select
import signal
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress

from gem_processes import messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    import resource
    from typing import Protocol

    class HasDescriptor(Protocol):
        """Anything to wait for."""

        def fileno(self) -> int:
            """Return its descriptor."""


__all__ = ["PAUSE", "RESUME", "Child", "ForkLoop", "described", "reset_signals", "serve"]

PAUSE, RESUME = b"P", b"R"
"""Messages of a client to a child, on the socket of its interest."""

_LONGEST_MESSAGE = 2000
_LOOK = 2.0
"""Seconds between two checks whether the client is alive."""


class Child(ABC):
    """A process that was forked on request.

    Args:
        pid: its process id.
        interest: a socket to the client, which sends ``PAUSE`` and ``RESUME``, and any other byte or closes it to end
            the child. None: the child ends by itself.
    """

    def __init__(self, pid: int, interest: socket.socket | None = None) -> None:
        self.pid = pid
        self.interest = interest
        self.look_at = math.inf
        """The time of the next call of :meth:`look`, by ``time.monotonic``."""

    def look(self, now: float) -> None:  # noqa: B027  # a child without a time limit needs no check
        """End the child if its time is up, or set the time of the next check."""

    def pause(self, *, is_paused: bool) -> None:
        """Stop the child's process group at the client's request, or let it go on."""
        with suppress(ProcessLookupError):  # it leads no group
            os.killpg(self.pid, signal.SIGSTOP if is_paused else signal.SIGCONT)

    def end(self) -> None:
        """Kill the child at the client's request. It is not reaped yet, so its process id is not reused."""
        os.kill(self.pid, signal.SIGKILL)

    @abstractmethod
    def ended(self, returncode: int, usage: resource.struct_rusage) -> None:
        """Report the child's end to the client, and close its descriptors.

        Args:
            returncode: the exit status, or the negative number of the signal.
            usage: the resource usage of the child and its reaped children.
        """


class ForkLoop(ABC):
    """Serves requests until the client closes its end of the channel or ends.

    Args:
        control: the channel.
    """

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._children: dict[int, Child] = {}
        self._interests: dict[int, Child] = {}
        self._handlers: dict[int, Callable[[], None]] = {}
        self._poll = select.poll()
        self._wakeup: tuple[int, ...] = ()
        self._client = os.getppid()
        """0 in the first process of a namespace, which ends when its parent does."""

    @abstractmethod
    def start(self, body: bytes, descriptors: list[int]) -> Child | None:
        """Fork a child for a request, and close the descriptors in this process; return None if the fork fails."""

    def settle(self) -> None:  # noqa: B027  # most servers need no such step
        """Clean up after children have ended."""

    @property
    def children(self) -> set[int]:
        """The ids of children that are not reaped yet."""
        return set(self._children)

    def child(self, pid: int) -> Child | None:
        """Return a child that is not reaped yet."""
        return self._children.get(pid)

    def hear(self, channel: HasDescriptor, handler: Callable[[], None]) -> None:
        """Call a function whenever another channel is readable, or its other end is closed."""
        self._handlers[channel.fileno()] = handler
        self._poll.register(channel, select.POLLIN)

    def forget(self, channel: HasDescriptor) -> None:
        """Stop to hear a channel, before it is closed."""
        del self._handlers[channel.fileno()]
        self._poll.unregister(channel)

    def run(self) -> None:
        """Serve requests; the caller must end the remaining children."""
        woken, wake = self._wakeup = os.pipe()
        for descriptor in self._wakeup:
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for descriptor in (woken, self._control.fileno()):
            self._poll.register(descriptor, select.POLLIN)
        with suppress(messages.MessageError, ConnectionError):  # the client ended in the middle of a request
            # A process that the client forked has a copy of the client's end, which keeps the channel open.
            while os.getppid() == self._client:
                ready = {number: self._handlers.get(number) for number, _ in self._poll.poll(self._milliseconds())}
                if woken in ready:
                    with suppress(BlockingIOError):
                        os.read(woken, 4096)
                    self.reap()
                for descriptor, handler in ready.items():
                    # The number of a channel that was closed meanwhile may be that of another, which nothing has woken.
                    if self._handlers.get(descriptor) is handler:
                        self._hear(descriptor)
                # Last, because a new child reuses the numbers of descriptors.
                if self._control.fileno() in ready:
                    message = messages.receive(self._control, with_descriptors=True)
                    if message is None:
                        return
                    self.add(self.start(message.body, message.descriptors))
                now = time.monotonic()
                for child in list(self._children.values()):
                    if now >= child.look_at:
                        child.look(now)

    def reap(self) -> None:
        """Reap all children that have ended, including adopted ones."""
        with suppress(ChildProcessError):
            while True:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                if not pid:
                    break
                child = self._children.pop(pid, None)
                if child is not None:
                    self._lose_interest(child)
                    child.ended(os.waitstatus_to_exitcode(status), usage)
        self.settle()

    def become_child(self) -> None:
        """Reset the loop's settings in a forked child, and close the loop's descriptors."""
        reset_signals()
        self._control.close()
        for descriptor in self._wakeup:
            os.close(descriptor)
        for child in self._children.values():
            if child.interest is not None:
                child.interest.close()

    def add(self, child: Child | None) -> None:
        """Watch a child."""
        if child is not None:
            self._children[child.pid] = child
            if child.interest is not None:
                self._interests[child.interest.fileno()] = child
                self._poll.register(child.interest, select.POLLIN)

    def _hear(self, descriptor: int) -> None:
        """Handle the client's request to end a child, or another channel's message."""
        if descriptor in self._handlers:
            self._handlers[descriptor]()
            return
        child = self._interests.get(descriptor)
        if child is not None and child.interest is not None:
            message = b""
            with suppress(OSError):
                message = child.interest.recv(64)  # an unread message would make the kernel drop the answer
            if message and not message.strip(PAUSE + RESUME):  # several may have come since the last one was heard
                child.pause(is_paused=message.endswith(PAUSE))
                return
            self._lose_interest(child)
            child.end()

    def _lose_interest(self, child: Child) -> None:
        if child.interest is not None and self._interests.pop(child.interest.fileno(), None) is not None:
            self._poll.unregister(child.interest)

    def _milliseconds(self) -> float | None:
        """Return the time until the next check."""
        soonest = min((child.look_at for child in self._children.values()), default=math.inf)
        seconds = min(_LOOK if self._client else math.inf, soonest - time.monotonic())
        return None if seconds == math.inf else max(0.0, math.ceil(1000 * seconds))


def reset_signals() -> None:
    """Reset in a forked child the signal handling that a loop set for its own process."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def serve(control: socket.socket, prepare: Callable[[], Callable[[], None]]) -> None:
    """Prepare, report readiness, and serve requests; the client receives an error of the preparation.

    Args:
        control: the channel.
        prepare: does the work that children share, and returns the loop.
    """
    try:
        run = prepare()
    except BaseException as error:
        messages.send(control, messages.ERROR, 0, described(error))
        return
    messages.send(control, messages.READY, os.getpid())
    run()


def described(error: BaseException) -> bytes:
    """Return an exception as the body of a message."""
    try:
        message = str(error)[:_LONGEST_MESSAGE]
    except BaseException:
        message = ""
    return json.dumps([type(error).__name__, message]).encode()
