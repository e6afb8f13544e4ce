"""Connections from this process to what runs in a container: :class:`ContainerPort`."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Thread

from gem_terminal.engines.base import Channel
from gem_terminal.errors import EngineError

__all__ = ["ContainerPort", "connection_command"]

_AT_ONCE = 64 << 10
_SHORTEST, _LONGEST = 0.001, 0.05
"""Seconds between two looks at an idle connection; a channel cannot be waited for together with a socket."""
_WRITES_IN = 60.0

# $1: host, $2: port, $3: how often to try. A server may take a while to listen. The second process carries the input;
# at its end the first one, which carries the output, ends too.
_CONNECT = """
exec 2>/dev/null
for ((i = 0; i < $3; i++)); do (exec 3<>"/dev/tcp/$1/$2") && break; sleep 0.1; done
exec 3<>"/dev/tcp/$1/$2" 4<&0 || exit
{ cat <&4 >&3; kill $$; } &
exec cat <&3
"""


def connection_command(host: str, port: int, seconds: float) -> tuple[str, ...]:
    """Return a command that connects its input and output with a port that the container reaches.

    It needs bash and coreutils in the container, and no network but the container's own.
    """
    return ("bash", "-c", _CONNECT, "bash", host, str(port), str(max(int(seconds * 10), 1)))


class ContainerPort:
    """A port on 127.0.0.1, each connection to which is the input and output of a new process of a container.

    Args:
        open_channel: starts the process.

    Raises:
        OSError: if this process has no ports or descriptors left.
    """

    def __init__(self, open_channel: Callable[[], Channel]) -> None:
        self._open_channel = open_channel
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.number: int = self._listener.getsockname()[1]
        self._lock = Lock()
        self._connections: set[socket.socket] = set()
        self._closed = False
        Thread(target=self._accept, name="gem-terminal port", daemon=True).start()

    def close(self) -> None:
        """End all connections. A second call does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)  # its thread closes it
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts, which close() does not
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                if self._closed:
                    connection.close()
                    return
                self._connections.add(connection)
            Thread(target=self._serve, args=(connection,), name="gem-terminal connection", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            channel = self._open_channel()
            try:
                _carry(connection, channel)
            finally:
                channel.close()
        except (OSError, EngineError):
            pass  # the client sees the end of its connection
        finally:
            with self._lock:
                self._connections.discard(connection)
            connection.close()


def _carry(connection: socket.socket, channel: Channel) -> None:
    """Carry data both ways until one side ends."""
    pause = _SHORTEST
    while True:
        data = b""
        if select.select([connection], [], [], pause)[0]:
            data = connection.recv(_AT_ONCE)
            if not data or not channel.write(data, _WRITES_IN):
                return
        answer = channel.read(0.0)
        if answer is None:
            return
        if answer:
            connection.sendall(answer)
        pause = _SHORTEST if data or answer else min(2 * pause, _LONGEST)
