"""The proxy through which a container reaches listed hosts, and no others: :class:`EgressProxy`.

The container has an empty network namespace, in which only the proxy's socket listens. The connections of that socket
are accepted in this process, which checks the name of the host, resolves it, and connects to it. There is no route and
no name server in the container, so neither another protocol nor a query for a name leads outside.

The proxy speaks HTTP/1.1 (RFC 9110): ``CONNECT`` for everything encrypted, and absolute URIs for plain ``http``. It
checks names and not contents: a host that serves many names, such as a content network, serves all of them. One thread
of the process serves all containers.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network
from threading import Lock, Thread
from urllib.parse import urlsplit

from gem.fork_hooks import after_fork_in_child
from gem_terminal.engines.host_networks import own_networks

__all__ = ["PROXY_PORT", "EgressProxy", "allowed_host", "machine_networks", "proxy_variables"]

PROXY_PORT = 63128
"""The port in the container, on 127.0.0.1."""

_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_LONGEST_HEAD = 64 << 10
"""Bytes of a request before its body."""
_ANSWERS_IN = 30.0
"""Seconds for a request, and for a connection to a host."""
_MOST = 256
"""Connections of a container at once; further ones wait."""
_AT_ONCE = 64 << 10
_HERE = ("127.0.0.0/8", "0.0.0.0/8")
""""This host", by RFC 1122."""


def allowed_host(text: str) -> str:
    """Return an entry of a list of hosts in its normal form, by Harbor's rules.

    Args:
        text: the name of a host, ``*.`` and a domain for all names below it, or an IPv4 address or network.

    Raises:
        ValueError: if it is none of them, or an IPv6 address, which no container reaches.
    """
    entry = text.strip().lower().rstrip(".")
    if re.fullmatch(r"[\d./]+", entry):
        return str(IPv4Network(entry))
    if not entry or not all(map(_LABEL.fullmatch, entry.removeprefix("*.").split("."))):
        raise ValueError(
            "an allowed host is a name, '*.' and a domain, or an IPv4 address or network without scheme, port or path, "
            f"got {text!r}"
        )
    return entry


def proxy_variables() -> dict[str, str]:
    """Return the environment variables by which programs in a container find the proxy."""
    address = f"http://127.0.0.1:{PROXY_PORT}"
    found = {"http_proxy": address, "https_proxy": address, "all_proxy": address, "no_proxy": "localhost,127.0.0.1"}
    return {**found, **{name.upper(): value for name, value in found.items()}}


def machine_networks() -> list[IPv4Network]:
    """Return the addresses of this machine, also its loopback, to which no name may lead."""
    return [*map(IPv4Network, own_networks()), *map(IPv4Network, _HERE)]


class EgressProxy:
    """The proxy of one container.

    Args:
        listener: listens in the network namespace of the container; the proxy closes it.
        allowed: entries as :func:`allowed_host` returns them.
    """

    def __init__(self, listener: socket.socket, allowed: Iterable[str]) -> None:
        entries = list(allowed)
        self._names = {entry for entry in entries if not re.fullmatch(r"[\d./]+", entry)}
        self._networks = [IPv4Network(entry) for entry in entries if entry not in self._names]
        self._refused = machine_networks()
        self._listener = listener
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False
        listener.setblocking(False)
        self._loop = _joined_loop()
        self._serving = asyncio.run_coroutine_threadsafe(self._serve(), self._loop)

    def close(self) -> None:
        """End all connections and stop listening. A second call does nothing."""
        if not self._is_closed:
            self._is_closed = True
            self._serving.cancel()
            self._loop.call_soon_threadsafe(self._end)
            _leave_loop()

    def disown(self) -> None:
        """Close a forked child's copy of the socket."""
        self._is_closed = True
        self._listener.close()

    def _end(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._listener.close()

    async def _serve(self) -> None:
        room = asyncio.Semaphore(_MOST)
        while True:
            await room.acquire()
            client, _ = await self._loop.sock_accept(self._listener)
            task = self._loop.create_task(self._answer(client))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            task.add_done_callback(lambda _: room.release())

    async def _answer(self, client: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=client, limit=_LONGEST_HEAD)
        try:
            try:
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _ANSWERS_IN)
                host, port, forwarded = _requested(head)
                there, back = await asyncio.wait_for(self._connected(host, port), _ANSWERS_IN)
            except _RefusedError as error:
                writer.write(_refusal(error.status, str(error)))
                await writer.drain()
                return
            try:
                if forwarded is None:
                    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    back.write(forwarded)
                await asyncio.gather(_relay(reader, back), _relay(there, writer))
            finally:
                back.close()
        except (OSError, TimeoutError, asyncio.TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # one side has gone, or sent no request
        finally:
            writer.close()

    async def _connected(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to a host if the list has it."""
        address = await self._address(host, port)
        try:
            return await asyncio.open_connection(str(address), port)
        except OSError as error:
            raise _RefusedError(502, f"{host}:{port} cannot be reached: {error}") from error

    async def _address(self, host: str, port: int) -> IPv4Address:
        if re.fullmatch(r"[\d.]+", host):
            try:
                address = IPv4Address(host)
            except ValueError as error:
                raise _RefusedError(400, f"{host} is no address") from error
            if not any(address in network for network in self._networks):
                raise _RefusedError(403, f"{host} is not an allowed host of this task")
        else:
            if not self._has_name(host):
                raise _RefusedError(403, f"{host} is not an allowed host of this task")
            try:
                found = await self._loop.getaddrinfo(host, port, family=socket.AF_INET, type=socket.SOCK_STREAM)
            except (OSError, UnicodeError) as error:
                raise _RefusedError(502, f"{host} cannot be resolved: {error}") from error
            address = IPv4Address(found[0][4][0])
        # A name may point anywhere, also to this machine.
        if any(address in network for network in self._refused):
            raise _RefusedError(403, f"{host} is an address of the machine that runs this task")
        return address

    def _has_name(self, host: str) -> bool:
        labels = host.split(".")
        return host in self._names or any(f"*.{'.'.join(labels[n:])}" in self._names for n in range(1, len(labels)))


class _RefusedError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def _requested(head: bytes) -> tuple[str, int, bytes | None]:
    """Return host and port of a request, and what to send on to the host; None for a tunnel."""
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise _RefusedError(400, "the proxy understands HTTP/1.1 alone")
    method, target, version = words
    try:
        parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError as error:
        raise _RefusedError(400, f"{target[:200]!r} has no host and port") from error
    if not host or (method == "CONNECT" and port is None) or parts.scheme not in ("", "http"):
        raise _RefusedError(400, f"{target[:200]!r} is neither CONNECT host:port nor http://host/path")
    if method == "CONNECT":
        return host, port or 443, None
    path = parts._replace(scheme="", netloc="").geturl() or "/"
    kept = [line for line in lines[1:-2] if not line.lower().startswith(("proxy-", "connection:", "host:"))]
    host_line = f"Host: {host}" if port is None else f"Host: {host}:{port}"
    forwarded = "\r\n".join([f"{method} {path} {version}", host_line, *kept, "Connection: close", "", ""])
    return host, port or 80, forwarded.encode("latin-1")


def _refusal(status: int, why: str) -> bytes:
    reasons = {400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway"}
    body = f"{why}\n".encode(errors="replace")
    head = f"HTTP/1.1 {status} {reasons[status]}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body


async def _relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send on what arrives, to its end."""
    while data := await reader.read(_AT_ONCE):
        writer.write(data)
        await writer.drain()
    with suppress(OSError):
        writer.write_eof()


_LOCK = Lock()
_LOOP: asyncio.AbstractEventLoop | None = None
_OPEN = 0


def _joined_loop() -> asyncio.AbstractEventLoop:
    """Return the loop of all open proxies, which runs in a thread of its own."""
    global _LOOP, _OPEN
    with _LOCK:
        if _LOOP is None:
            _LOOP = asyncio.new_event_loop()
            Thread(target=_run, args=(_LOOP,), name="gem-terminal egress", daemon=True).start()
        _OPEN += 1
        return _LOOP


def _leave_loop() -> None:
    """End the loop after its last proxy."""
    global _LOOP, _OPEN
    with _LOCK:
        _OPEN -= 1
        if not _OPEN and _LOOP is not None:
            _LOOP.call_soon_threadsafe(_LOOP.stop)
            _LOOP = None


def _run(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks))
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


@after_fork_in_child
def _reset_after_fork() -> None:
    global _LOCK, _LOOP, _OPEN
    _LOCK, _LOOP, _OPEN = Lock(), None, 0
