"""Messages to and from a local server: one line of JSON each, over its standard input and output.

The SDK's own transport would do, but for three things: a message of any length is gathered here in linear time and
up to a bound, what a server writes that is no message is kept for the error and not logged, and a response that
cannot be read is answered at once in place of the call's running into its time limit.
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
"""Bytes of one message that are read; of what is longer only the edges are looked at."""

_EDGE = 1024
"""Bytes at either end of a message that was too long, in which its id is looked for."""

_ENDLESS = 4 * LONGEST_MESSAGE
"""Bytes without an end of line after which the connection is given up."""

_CHUNK = 1 << 18

_ID_FIRST = re.compile(rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,18})\s*,\s*"(?:result|error)"')
_ID_LAST = re.compile(rb',\s*"id"\s*:\s*(\d{1,18})\s*\}\s*\Z')


class StdioLink:
    """The connection with one running server.

    Args:
        process: the server; it is stopped when the connection is left.
        ended: set when the server has closed its output.
    """

    def __init__(self, process: ServerProcess, ended: anyio.Event) -> None:
        self.process = process
        self.garbage: str | None = None
        """The last that the server wrote that is no message, shortened; None as long as there is none."""
        self.fault: str | None = None
        """Why the connection was given up, where it was not the server that ended it."""
        self._ended = ended

    @asynccontextmanager
    async def open(self) -> AsyncIterator[TransportStreams]:
        """Carry messages for as long as the context lasts; this is what the SDK's client takes as a transport."""
        import anyio
        from mcp.shared.message import SessionMessage

        incoming, to_client = anyio.create_memory_object_stream[SessionMessage | Exception](16)
        # Room for cancellations, which must not wait for a server that reads nothing.
        from_client, outgoing = anyio.create_memory_object_stream[SessionMessage](1024)
        async with anyio.create_task_group() as group:
            group.start_soon(self._read, incoming)
            group.start_soon(self._write, outgoing)
            group.start_soon(self.process.keep_stderr)
            try:
                yield to_client, from_client
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
                        continue  # nobody listens any more, but a server that cannot write may not end
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
        """Return the message in a line; an error in place of a response that cannot be read; None if it is neither."""
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
    """A line beyond the bound."""

    edges: bytes
    size: int


class _Lines:
    """Cuts what is read into lines, in time linear in its length."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0

    @property
    def is_endless(self) -> bool:
        return self._length > _ENDLESS

    def feed(self, chunk: bytes) -> list[bytes | _TooLong]:
        """Return the lines that end in the chunk."""
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
    """Return the id of the request that an unreadable line answers; None if it answers none."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return _id_at_an_edge(line)
    if not isinstance(content, dict) or "method" in content:
        return None
    identifier = content.get("id")
    return identifier if isinstance(identifier, (int, str)) and not isinstance(identifier, bool) else None


def _id_at_an_edge(line: bytes) -> int | None:
    """Return the id of a response of which only the first or last member can be read."""
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
