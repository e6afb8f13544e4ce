"""Messages of any size over a packet socket: :class:`PacketChannel`.

A packet arrives whole, with one wake-up of its reader. Messages that do not fit into one go through a piece of
anonymous shared memory, which is used again once the reader has read it. It has no name, and disappears with its last
user, however that ends.
"""

from __future__ import annotations

import mmap
import os
import select
import socket
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

__all__ = ["PacketChannel", "packet_sockets"]

_LARGEST = 96 << 10
"""Bytes of the largest packet, well below the 208 KiB of Linux's default send buffer; shared memory costs about as much
here, and a quarter less at a megabyte."""
_SMALLEST = 1 << 20
"""Bytes of the smallest piece of shared memory; a page of it takes no room before its first use."""
_NEW, _SAME = b"N", b"S"
"""Packets for a message in a new piece of shared memory, which comes along, and in the last one."""
_HEAD = 16
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
        largest: bytes of the largest message that goes in a packet.
    """

    def __init__(self, sock: socket.socket, *, blocking: bool, largest: int = _LARGEST) -> None:
        self._socket = sock
        self._flags = _RIGHTS if blocking else _RIGHTS | socket.MSG_DONTWAIT
        self._blocking = blocking
        self._largest = largest
        self._packets: deque[Any] = deque()
        self._out: _Memory | None = None
        self._in: _Memory | None = None

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, data: bytes) -> None:
        """Send a message.

        Raises:
            OSError: if the other end is closed.
        """
        if len(data) <= self._largest:
            if self._blocking:
                self._socket.sendall(data)
                return
            with suppress(BlockingIOError):
                self._socket.send(data, socket.MSG_DONTWAIT)
                return
        memory = self._out
        if memory is None or memory.is_full or memory.room < len(data):
            # The first large message, a larger one, or one before the reader has read the last.
            memory = _Memory(os.memfd_create("gem-message", os.MFD_CLOEXEC), max(len(data), _SMALLEST))
            memory.fill(data)
            self._send_packet(_NEW, memory.descriptor)
            if self._out is not None:
                self._out.close()
            self._out = memory
        else:
            memory.fill(data)
            self._send_packet(_SAME)

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
        if not data:
            raise EOFError("the other end is closed")
        if ancillary:
            memory = _Memory(int.from_bytes(ancillary[0][2][:4], sys.byteorder))
            packets[0] = _SAME, (), 0, None
            old, self._in = self._in, memory
            if old is not None:
                old.close()
        if len(data) > 1:
            result = read(data)
        else:
            assert self._in is not None
            result = self._in.read(read)
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
        for memory in (self._out, self._in):
            if memory is not None:
                memory.close()
        self._out = self._in = None

    def _send_packet(self, packet: bytes, *descriptors: int) -> None:
        """Send a tiny packet with descriptors."""
        while True:
            try:
                socket.send_fds(self._socket, [packet], descriptors, 0 if self._blocking else socket.MSG_DONTWAIT)
                return
            except BlockingIOError:
                poll = select.poll()
                poll.register(self._socket, select.POLLIN | select.POLLOUT)
                for _, event in poll.poll():
                    if event & select.POLLIN and not event & select.POLLOUT:
                        with suppress(BlockingIOError):
                            self._packets.extend(map(self._socket.recvmsg, (_LARGEST,), (_ROOM,), (self._flags,)))


class _Memory:
    """A piece of shared memory with one message: two words, whether it is full and its length, and the message.

    Args:
        descriptor: of the memory; closed with this object.
        room: bytes for the message, where this end makes the memory.
    """

    def __init__(self, descriptor: int, room: int | None = None) -> None:
        self.descriptor = descriptor
        if room is not None:
            os.ftruncate(descriptor, _HEAD + room)
        self._map = mmap.mmap(descriptor, 0)
        self._words = memoryview(self._map)[:_HEAD].cast("q")
        self.room = len(self._map) - _HEAD

    @property
    def is_full(self) -> bool:
        return self._words[0] != 0

    def fill(self, data: bytes) -> None:
        self._map[_HEAD : _HEAD + len(data)] = data
        self._words[1] = len(data)
        self._words[0] = 1

    def read(self, read: Callable[[Any], Any]) -> Any:
        with memoryview(self._map) as whole, whole[_HEAD : _HEAD + self._words[1]] as message:
            result = read(message)
        self._words[0] = 0
        return result

    def close(self) -> None:
        self._words.release()
        self._map.close()
        os.close(self.descriptor)
