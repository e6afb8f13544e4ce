"""The fork server's own side: :class:`ForkLoop` starts children on request, and learns how each of them ends.

It has one thread and allocates little, so that forking it is quick and sound. It imports the standard library and its
neighbours alone: servers that fork hostile code run it in a bare interpreter.
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

from gem.processes import messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    import resource

__all__ = ["Child", "ForkLoop", "described", "reset_signals", "serve"]

_LONGEST_MESSAGE = 2000
_LOOK = 2.0
"""Seconds between two looks at whether the client lives."""


class Child(ABC):
    """A process that was forked on request.

    Args:
        pid: its process id.
        interest: a socket that the client holds the other end of: it sends something, or closes, when it wants the
            child to end. None: the child ends by itself.
    """

    def __init__(self, pid: int, interest: socket.socket | None = None) -> None:
        self.pid = pid
        self.interest = interest
        self.look_at = math.inf
        """When :meth:`look` is called next, by ``time.monotonic``."""

    def look(self, now: float) -> None:  # noqa: B027  # without a time limit there is nothing to look at
        """End the child if its time is up, or set when to look again."""

    def end(self) -> None:
        """Kill it, because the client wants that. It is not waited for yet, so that the id is still its own."""
        os.kill(self.pid, signal.SIGKILL)

    @abstractmethod
    def ended(self, returncode: int, usage: resource.struct_rusage) -> None:
        """Tell the client how it ended, and close what was kept for that.

        Args:
            returncode: the exit status, or the negative number of the signal.
            usage: what it and those that it waited for have used.
        """


class ForkLoop(ABC):
    """Serves requests until the client closes its end of the channel, or has gone.

    Args:
        control: the channel.
    """

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._children: dict[int, Child] = {}
        self._interests: dict[int, Child] = {}
        self._poll = select.poll()
        self._wakeup: tuple[int, ...] = ()
        self._client = os.getppid()
        """0 in the first process of a namespace, which ends when its parent does."""

    @abstractmethod
    def start(self, body: bytes, descriptors: list[int]) -> Child | None:
        """Fork a child for a request, and close the descriptors in this process; None if it could not be forked."""

    def settle(self) -> None:  # noqa: B027  # most servers have nothing of the kind
        """Do what is due after children have ended."""

    @property
    def children(self) -> set[int]:
        """The ids of children that were not waited for yet."""
        return set(self._children)

    def run(self) -> None:
        """Serve; the caller ends the children that are left."""
        woken, wake = self._wakeup = os.pipe()
        for descriptor in self._wakeup:
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for descriptor in (woken, self._control.fileno()):
            self._poll.register(descriptor, select.POLLIN)
        with suppress(messages.MessageError, ConnectionError):  # the client has gone in the middle of a request
            # A copy of the client's end, in a process that the client has forked, keeps the channel open.
            while os.getppid() == self._client:
                ready = {descriptor for descriptor, _ in self._poll.poll(self._milliseconds())}
                if woken in ready:
                    with suppress(BlockingIOError):
                        os.read(woken, 4096)
                    self.reap()
                for descriptor in ready:
                    self._hear(descriptor)
                # Last, because a new child takes over the numbers of descriptors.
                if self._control.fileno() in ready:
                    message = messages.receive(self._control, with_descriptors=True)
                    if message is None:
                        return
                    self._add(self.start(message.body, message.descriptors))
                now = time.monotonic()
                for child in list(self._children.values()):
                    if now >= child.look_at:
                        child.look(now)

    def reap(self) -> None:
        """Wait for all children that have ended, adopted ones among them."""
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
        """Undo in a forked child what the loop has set, and close what belongs to the loop."""
        reset_signals()
        self._control.close()
        for descriptor in self._wakeup:
            os.close(descriptor)
        for child in self._children.values():
            if child.interest is not None:
                child.interest.close()

    def _add(self, child: Child | None) -> None:
        if child is not None:
            self._children[child.pid] = child
            if child.interest is not None:
                self._interests[child.interest.fileno()] = child
                self._poll.register(child.interest, select.POLLIN)

    def _hear(self, descriptor: int) -> None:
        """Learn that the client wants the end of a child."""
        child = self._interests.get(descriptor)
        if child is not None and child.interest is not None:
            with suppress(OSError):
                child.interest.recv(64)  # what is left unread would make the kernel drop the answer
            self._lose_interest(child)
            child.end()

    def _lose_interest(self, child: Child) -> None:
        if child.interest is not None and self._interests.pop(child.interest.fileno(), None) is not None:
            self._poll.unregister(child.interest)

    def _milliseconds(self) -> float | None:
        """How long nothing has to be looked at."""
        soonest = min((child.look_at for child in self._children.values()), default=math.inf)
        seconds = min(_LOOK if self._client else math.inf, soonest - time.monotonic())
        return None if seconds == math.inf else max(0.0, math.ceil(1000 * seconds))


def reset_signals() -> None:
    """Undo in a forked child what a loop has set for the signals of its own process."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def serve(control: socket.socket, prepare: Callable[[], Callable[[], None]]) -> None:
    """Prepare, say that the server is ready, and serve; an error of the preparation goes to the client.

    Args:
        control: the channel.
        prepare: does what children should not have to do, and returns what serves.
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
