"""Messages of any size over a packet socket: :class:`PacketChannel`.

A packet arrives whole, with one wake-up of its reader. Messages that do not fit into one go through a piece of
anonymous shared memory, whose descriptor the packet carries; it disappears with its last user, however that ends.
"""

from __future__ import annotations

import mmap
import os
import select
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

__all__ = ["PacketChannel", "packet_sockets"]

_LARGEST = 96 << 10
"""Bytes of the largest packet, well below the 208 KiB of Linux's default send buffer; shared memory costs about as much
here, and a quarter less at a megabyte."""
_ROOM = socket.CMSG_SPACE(4)
_RIGHTS = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


def packet_sockets() -> tuple[socket.socket, socket.socket]:
    """Return two connected packet sockets."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


class PacketChannel:
    """One end of a connection; messages are bytes.

    Args:
        sock: one of :func:`packet_sockets`.
        blocking: whether :meth:`receive` waits for a message. Otherwise the caller watches ``fileno()``, and
            :meth:`send` keeps receiving while it has to wait, so that two ends that both send never wait for ever.
    """

    def __init__(self, sock: socket.socket, *, blocking: bool) -> None:
        self._socket = sock
        self._flags = _RIGHTS if blocking else _RIGHTS | socket.MSG_DONTWAIT
        self._blocking = blocking
        self._packets: deque[Any] = deque()

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, data: bytes) -> None:
        """Send a message.

        Raises:
            OSError: if the other end is closed.
        """
        if len(data) <= _LARGEST:
            if self._blocking:
                self._socket.sendall(data)
                return
            with suppress(BlockingIOError):
                self._socket.send(data, socket.MSG_DONTWAIT)
                return
        memory = os.memfd_create("gem-message", os.MFD_CLOEXEC)
        try:
            view, sent = memoryview(data), 0
            while sent < len(view):
                sent += os.write(memory, view[sent:])
            self._send_descriptor(memory)
        finally:
            os.close(memory)

    def receive(self, read: Callable[[Any], Any]) -> Any:
        """Return what ``read`` makes of a message; it gets a bytes-like object that it must not keep.

        An exception in the middle (Ctrl-C) loses no message: it comes with the next call.

        Raises:
            BlockingIOError: if there is none, and the channel is not blocking.
            EOFError: if the other end is closed.
        """
        packets = self._packets
        if not packets:
            # In one piece of C code: no signal handler runs between the receipt of a packet and its storage.
            packets.extend(map(self._socket.recvmsg, (_LARGEST,), (_ROOM,), (self._flags,)))
        data, ancillary, _, _ = packets[0]
        if ancillary:
            descriptor = int.from_bytes(ancillary[0][2][:4], "little")
            with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as memory:
                result = read(memory)
            packets.popleft()
            os.close(descriptor)
            return result
        if not data:
            raise EOFError("the other end is closed")
        result = read(data)
        packets.popleft()
        return result

    @property
    def has_packets(self) -> bool:
        """Whether a packet was received that was not read yet."""
        return bool(self._packets)

    @property
    def is_readable(self) -> bool:
        """Whether there is a message, or the other end is closed."""
        if self._packets or self._socket.fileno() < 0:
            return True
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def close(self) -> None:
        self._socket.close()

    def _send_descriptor(self, descriptor: int) -> None:
        while True:
            try:
                socket.send_fds(self._socket, [b"F"], [descriptor], 0 if self._blocking else socket.MSG_DONTWAIT)
                return
            except BlockingIOError:
                poll = select.poll()
                poll.register(self._socket, select.POLLIN | select.POLLOUT)
                for _, event in poll.poll():
                    if event & select.POLLIN and not event & select.POLLOUT:
                        with suppress(BlockingIOError):
                            self._packets.extend(map(self._socket.recvmsg, (_LARGEST,), (_ROOM,), (self._flags,)))
