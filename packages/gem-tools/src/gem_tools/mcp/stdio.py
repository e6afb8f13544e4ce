"""Messages to and from a local server: lines of JSON over its standard input and output.

This transport differs from the SDK's in three ways: it reads a message of any length in linear time and up to a
limit; it keeps invalid output for the error message instead of logging it; and it answers a call immediately if the
response is invalid, instead of waiting for the time limit.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gem_tools.mcp.process import ServerProcess

if TYPE_CHECKING:
    import anyio
    from mcp.client._transport import TransportStreams

__all__ = ["LONGEST_MESSAGE", "StdioLink"]

LONGEST_MESSAGE = 16 << 20
"""The largest message in bytes; only the edges of a longer one are inspected."""

_EDGE = 1024
"""The bytes at either end of a too long message that are searched for its id."""

_ENDLESS = 4 * LONGEST_MESSAGE
"""The bytes without a line end after which the connection is closed."""

_CHUNK = 1 << 18

_ID_FIRST = re.compile(rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,18})\s*,\s*"(?:result|error)"')
_ID_LAST = re.compile(rb',\s*"id"\s*:\s*(\d{1,18})\s*\}\s*\Z')


class StdioLink:
    """The connection with one running server.

    Args:
        process: the server; leaving the connection stops it.
        ended: set when the server has closed its output.
    """

    def __init__(self, process: ServerProcess, ended: anyio.Event) -> None:
        self.process = process
        self.garbage: str | None = None
        """The last invalid line of the server, shortened; None without one."""
        self.fault: str | None = None
        """The reason why this side closed the connection, if it did."""
        self._ended = ended

    @asynccontextmanager
    async def open(self) -> AsyncIterator[TransportStreams]:
        """Carry messages within the context; this is the transport of the SDK's client."""
        import anyio
        from mcp.shared.message import SessionMessage

        from gem_tools.mcp.message_flow import MessageFlow

        incoming, to_client = anyio.create_memory_object_stream[SessionMessage | Exception](16)
        # Room for cancellations, which must not wait for a server that does not read.
        from_client, outgoing = anyio.create_memory_object_stream[SessionMessage](1024)
        async with anyio.create_task_group() as group:
            group.start_soon(self._read, incoming)
            group.start_soon(self._write, outgoing)
            group.start_soon(self.process.keep_stderr)
            try:
                yield MessageFlow(to_client), from_client
            finally:
                with anyio.CancelScope(shield=True):
                    to_client.close()
                    from_client.close()
                    await self.process.stop()
                group.cancel_scope.cancel()

    async def _read(self, incoming: Any) -> None:
        import anyio

        lines = _Lines()
        async with incoming:
            while chunk := await self.process.stdout.read(_CHUNK):
                for line in lines.feed(chunk):
                    message = self._message(line)
                    if message is None:
                        continue
                    try:
                        await incoming.send(message)
                    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                        continue  # no reader is left, but a server that cannot write may never end
                if lines.is_endless:
                    self._give_up(f"it wrote more than {_ENDLESS >> 20} MiB without an end of line")
                    break
            self._ended.set()

    async def _write(self, outgoing: Any) -> None:
        async with outgoing:
            async for message in outgoing:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    self.process.stdin.write(f"{line}\n".encode(errors="replace"))
                    await self.process.stdin.drain()
                except (ConnectionError, RuntimeError):
                    self._ended.set()
                    return

    def _give_up(self, fault: str) -> None:
        self.fault = fault
        self.process.kill()

    def _message(self, line: bytes | _TooLong) -> Any:
        """Parse a line. Returns an error in place of an invalid response, and None for any other invalid line."""
        import mcp_types
        from mcp.shared.message import SessionMessage

        if isinstance(line, _TooLong):
            identifier = _id_at_an_edge(line.edges)
            if identifier is None:
                self._give_up(f"it sent a message of {line.size} bytes")
            return _error(identifier, f"the server's message of {line.size} bytes is too long")
        if not line.strip():
            return None
        try:
            return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError as error:
            self.garbage = line[:200].decode(errors="replace").strip()
            return _error(_id_in(line), f"the server's response cannot be read: {_short(error)}")


@dataclass(frozen=True)
class _TooLong:
    """A line above the size limit."""

    edges: bytes
    size: int


class _Lines:
    """Splits input into lines, in time linear in its length."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0

    @property
    def is_endless(self) -> bool:
        return self._length > _ENDLESS

    def feed(self, chunk: bytes) -> list[bytes | _TooLong]:
        """Return the lines that the chunk completes."""
        *ended, rest = chunk.split(b"\n")
        lines: list[bytes | _TooLong] = []
        for piece in ended:
            self._add(piece)
            joined = b"".join(self._parts)
            lines.append(joined if self._length <= LONGEST_MESSAGE else _TooLong(joined, self._length))
            self._parts, self._length = [], 0
        self._add(rest)
        return lines

    def _add(self, piece: bytes) -> None:
        self._length += len(piece)
        self._parts.append(piece)
        if self._length > LONGEST_MESSAGE:
            joined = b"".join(self._parts)
            self._parts = [joined[:_EDGE], joined[-_EDGE:]]


def _id_in(line: bytes) -> int | str | None:
    """Return the id of the request that an unreadable line answers; None if it is not a response."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return _id_at_an_edge(line)
    if not isinstance(content, dict) or "method" in content:
        return None
    identifier = content.get("id")
    return identifier if isinstance(identifier, (int, str)) and not isinstance(identifier, bool) else None


def _id_at_an_edge(line: bytes) -> int | None:
    """Return the id of a response if it is its first or last member; the rest may be unreadable."""
    found = _ID_FIRST.match(line[:_EDGE]) or _ID_LAST.search(line[-_EDGE:])
    return None if found is None else int(found[1])


def _error(identifier: int | str | None, message: str) -> Any:
    if identifier is None:
        return None
    import mcp_types
    from mcp.shared.message import SessionMessage

    error = mcp_types.ErrorData(code=mcp_types.PARSE_ERROR, message=message)
    return SessionMessage(mcp_types.JSONRPCError(jsonrpc="2.0", id=identifier, error=error))


def _short(error: ValueError) -> str:
    lines = str(error).splitlines()
    return " ".join(line.strip() for line in lines[:3])[:300]
