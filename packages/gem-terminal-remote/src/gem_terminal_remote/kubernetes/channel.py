"""Processes in the pods of a Kubernetes cluster: their command lines and their connections.

The connection is a websocket whose messages begin with the number of a channel (``v4.channel.k8s.io``: 0 to 3 are
stdin, stdout, stderr and the status at the end, 4 is the size of the terminal; version 5 adds messages that close a
channel). The client library connects it; reading and writing are done here, since its own reader cannot tell a pause
from the end and its writer waits for a process that does not read.
"""

from __future__ import annotations

import json
import selectors
import ssl
import time
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

from gem_terminal.engines.base import Channel, ProcessOptions
from gem_terminal.errors import EngineError

if TYPE_CHECKING:
    from kubernetes.stream.ws_client import WSClient

__all__ = ["ExecChannel", "command_line"]

_STDIN, _STDOUT, _STDERR, _STATUS, _SIZE, _CLOSING = 0, 1, 2, 3, 4, 255
_FRAME = 32 << 10
"""The largest input of one message, in bytes."""

_AT_ONCE = 64 << 10
"""Bytes of output after which a read returns, so that a flood does not fill the memory."""

_EARLY = 64 << 20
"""The output in bytes that is buffered while input is written; a process that writes more must wait."""

_LONGEST_LINE = 60_000
"""The longest command line in bytes; servers and proxies limit the length of a URL."""

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# The API runs a command as the pod's user, in the pod's folder and environment, so a shell changes them.
# $1: the user, $2: the folder; then NAME=value … and the command. Helpers that run as root come from folders that
# only root can write to. Kubernetes adds variables that name the API server; other engines have no such variables.
_ENTER = rf"""
cd -- "$2" || exit 127
_gem_user=$1 _gem_path=${{PATH:-{_PATH}}} _gem_id= PATH={_PATH}
shift 2
unset OLDPWD
for _gem_line in HOST PORT PORT_HTTPS; do unset KUBERNETES_SERVICE_$_gem_line; done
for _gem_line in '' _443_TCP _443_TCP_PROTO _443_TCP_PORT _443_TCP_ADDR; do unset KUBERNETES_PORT$_gem_line; done
case $_gem_user in root | 0) exec env "PATH=$_gem_path" "$@" ;; esac
if [ -f /etc/passwd ]; then
  while IFS=: read -r _gem_name _gem_line _gem_uid _gem_gid _gem_line _gem_home _gem_line || [ "$_gem_name" ]; do
    [ "$_gem_user" = "$_gem_name" ] || [ "$_gem_user" = "$_gem_uid" ] || continue
    _gem_id=$_gem_uid _gem_groups=--init-groups
    break
  done < /etc/passwd
fi
if [ -z "$_gem_id" ]; then
  case $_gem_user in *[!0-9]* | '') echo "there is no user $_gem_user" >&2; exit 127 ;; esac
  _gem_id=$_gem_user _gem_gid=$_gem_user _gem_name= _gem_home=/ _gem_groups=--clear-groups
fi
case ${{HOME:-/root}} in /root) HOME=${{_gem_home:-/}}; export HOME ;; esac
if setpriv --reuid "$_gem_id" --regid "$_gem_gid" $_gem_groups true 2>/dev/null; then
  exec setpriv --reuid "$_gem_id" --regid "$_gem_gid" $_gem_groups env "PATH=$_gem_path" "$@"
elif [ "$_gem_name" ] && command -v runuser >/dev/null; then
  exec runuser -u "$_gem_name" -- env "PATH=$_gem_path" "$@"
elif [ "$_gem_name" ] && command -v su >/dev/null; then
  exec su -s /bin/sh -c 'exec env "$@"' -- "$_gem_name" sh "PATH=$_gem_path" "HOME=$HOME" "$@"
fi
echo "the image has no setpriv, runuser or su that could run a command as user $_gem_user" >&2
exit 127
"""


def command_line(command: Iterable[str], options: ProcessOptions) -> list[str]:
    """Return the command line that runs a command with its user, environment and folder, and keeps its exit code.

    A command line that is too long to be sent ends with exit code 126, as a shell reports one too long for the kernel.

    Raises:
        EngineError: if the name of a variable is invalid, or an argument contains a NUL byte.
    """
    words, environment = list(command), options.get("environment") or {}
    pairs = [f"{name}={value}" for name, value in environment.items()]
    for name in environment:
        if not name or "=" in name or name.startswith("-"):
            raise EngineError(f"{name!r} cannot be the name of an environment variable")
    if words and "=" in words[0]:  # env would take such a command for a variable
        words = ["/bin/sh", "-c", 'exec "$@"', "sh", *words]
    line = ["/bin/sh", "-c", _ENTER, "sh", options.get("user") or "root", options.get("workdir") or ".", *pairs, *words]
    line = [word.encode(errors="replace").decode() for word in line]  # lone surrogates
    for word in line:
        if "\x00" in word:
            raise EngineError(f"a command line cannot contain a NUL byte: {word[:80]!r}")
    if sum(len(quote_plus(word)) for word in line) > _LONGEST_LINE:
        return ["/bin/sh", "-c", "echo 'the command line is too long' >&2; exit 126"]
    return line


class ExecChannel(Channel):
    """A process behind a websocket.

    Input is sent in frames. If a frame is incomplete, the next call sends the rest of it first.

    Args:
        stream: a new connection of the client library.
        where: the pod, for messages.
    """

    def __init__(self, stream: WSClient, where: str) -> None:
        self._websocket: Any = stream.sock
        self._socket: Any = stream.sock.sock
        self._socket.setblocking(False)
        self._where = where
        self._unsent: deque[bytes] = deque()
        self._early = bytearray()
        self._status = bytearray()
        self._channel = _STDOUT
        self._connected = True
        self._cut = False

    def write(self, data: bytes, seconds: float = 10.0) -> bool:
        for start in range(0, len(data), _FRAME):
            self._queue(bytes([_STDIN]) + data[start : start + _FRAME])
        deadline = time.monotonic() + seconds
        while self._connected and self._send():
            # Read the output that arrives meanwhile; otherwise both ends might wait for each other to read.
            self._early += self._receive(min(_AT_ONCE, _EARLY - len(self._early)))
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._wait(left, reading=len(self._early) < _EARLY)
        return self._connected and not self._cut

    def read(self, seconds: float) -> bytes | None:
        deadline = time.monotonic() + seconds
        while True:
            data = bytes(self._early) or self._receive(_AT_ONCE)
            self._early.clear()
            if data:
                return data
            if not self._connected:
                return None
            self._send()
            left = deadline - time.monotonic()
            if not self._wait(max(left, 0.0)) and left <= 0:
                return b""

    def resize(self, columns: int, rows: int) -> None:
        if self._connected:
            self._queue(bytes([_SIZE]) + json.dumps({"Width": columns, "Height": rows}).encode())
            self._send()

    def exit_code(self, seconds: float) -> int | None:
        """Return the exit code.

        Raises:
            EngineError: if the connection broke off before the code came, or the process could not be started.
        """
        deadline = time.monotonic() + seconds
        while self._connected and self.read(max(deadline - time.monotonic(), 0.0)):
            continue
        if self._connected:
            return None
        return self._code()

    def close(self) -> None:
        from websocket import WebSocketException

        if self._connected:
            self._connected = False
            with suppress(OSError, ValueError, WebSocketException):
                self._websocket.send_close()
        self._websocket.shutdown()

    def _code(self) -> int:
        try:
            status = json.loads(self._status)
        except ValueError:
            raise EngineError(f"the connection to pod {self._where} broke off") from None
        if status.get("status") == "Success":
            return 0
        for cause in (status.get("details") or {}).get("causes") or ():
            if cause.get("reason") == "ExitCode":
                return int(cause["message"])
        raise EngineError(f"pod {self._where} cannot run a command: {status.get('message')}")

    def _receive(self, most: int) -> bytes:
        """Return the available output without waiting. The last frame may still be incomplete."""
        from websocket import ABNF, WebSocketException

        output = bytearray()
        while self._connected and len(output) < most:
            try:
                frame = self._websocket.recv_frame()
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                break
            except (WebSocketException, OSError):
                self._connected = False
                break
            data = frame.data
            if frame.opcode == ABNF.OPCODE_CLOSE:
                self._connected = False
            elif frame.opcode == ABNF.OPCODE_PING:
                self._queue(data, ABNF.OPCODE_PONG)
            elif frame.opcode in (ABNF.OPCODE_BINARY, ABNF.OPCODE_TEXT, ABNF.OPCODE_CONT):
                if frame.opcode != ABNF.OPCODE_CONT:
                    self._channel, data = (data[0], data[1:]) if data else (_CLOSING, b"")
                if self._channel in (_STDOUT, _STDERR):
                    output += data
                elif self._channel == _STATUS:
                    self._status += data
                    # The status arrives last; the other end may wait long before it closes the connection.
                    self._connected = not (frame.fin and self._status)
        return bytes(output)

    def _queue(self, payload: bytes, opcode: int | None = None) -> None:
        from websocket import ABNF

        frame = ABNF.create_frame(payload, ABNF.OPCODE_BINARY if opcode is None else opcode)
        self._unsent.append(frame.format())

    def _send(self) -> bool:
        """Send as much as the other end accepts now; return whether anything is left."""
        while self._unsent:
            try:
                sent = self._socket.send(self._unsent[0])
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return True
            except OSError:  # the connection has gone; its earlier output may still be readable
                self._unsent.clear()
                self._cut = True
                break
            rest = self._unsent.popleft()[sent:]
            if rest:
                self._unsent.appendleft(rest)
        return False

    def _wait(self, seconds: float, reading: bool = True) -> bool:
        """Wait until the connection is readable, or writable if anything is left to send."""
        wanted = (selectors.EVENT_READ if reading else 0) | (selectors.EVENT_WRITE if self._unsent else 0)
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, wanted)
            return bool(selector.select(seconds))
