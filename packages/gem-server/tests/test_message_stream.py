"""The messages of a WebSocket, however its bytes arrive: as the library ``websockets`` reads them."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import Protocol
from websockets.server import ServerProtocol
from websockets.uri import parse_uri

from gem_server.message_stream import MessageStream

LIMIT = 70_000


def connected() -> tuple[ServerProtocol, ClientProtocol]:
    """Return both ends of a connection after the handshake."""
    client, server = ClientProtocol(parse_uri("ws://localhost/"), max_size=LIMIT), ServerProtocol(max_size=LIMIT)
    client.send_request(client.connect())
    server.receive_data(b"".join(client.data_to_send()))
    (request,) = server.events_received()
    server.send_response(server.accept(request))  # type: ignore[arg-type]
    client.receive_data(b"".join(server.data_to_send()))
    client.events_received()
    return server, client


def end(side: str) -> Protocol:
    """Return the server's or the client's end of a connection of its own."""
    server, client = connected()
    return server if side == "server" else client


def read_by_library(protocol: Protocol, data: bytes) -> list[bytes]:
    """Return the messages that the library alone finds."""
    protocol.receive_data(data)
    messages: list[bytes] = []
    parts: list[bytes] = []
    for frame in protocol.events_received():
        assert isinstance(frame, Frame)
        if frame.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            parts.append(bytes(frame.data))
            if frame.fin:
                messages.append(b"".join(parts))
                parts.clear()
    return messages


SIZES = st.sampled_from([0, 1, 5, 124, 125, 126, 127, 128, 300, 65_534, 65_535, 65_536, LIMIT - 1, LIMIT, LIMIT + 1])
DATA = st.binary(max_size=8) | st.builds(lambda size: b"[" + b"x" * (size - 1) if size else b"", SIZES)
WHOLE = st.tuples(st.sampled_from([Opcode.TEXT, Opcode.TEXT, Opcode.BINARY]), DATA, st.just(True))
CONTROL = st.tuples(st.sampled_from([Opcode.PING, Opcode.PONG]), st.binary(max_size=125), st.just(True))
ANY = st.tuples(st.sampled_from([Opcode.TEXT, Opcode.CONT, Opcode.BINARY]), st.binary(max_size=200), st.booleans())
CLOSE = st.just((Opcode.CLOSE, b"\x03\xe8bye", True))


@st.composite
def streams(draw: st.DrawFn, mask: bool) -> bytes:
    """Frames of one side, most of them whole texts, some of them wrong, and perhaps junk at the end."""
    frames = draw(st.lists(WHOLE | WHOLE | WHOLE | CONTROL | ANY | CLOSE, max_size=8))
    wrong = draw(st.integers(-60, 7))
    written = b""
    for index, (opcode, data, fin) in enumerate(frames):
        written += Frame(opcode, data, fin).serialize(mask=mask != (index == wrong))
    half = b"\x81\xfe\x00" if mask else b"\x81\x7e\x00"
    return written + draw(st.sampled_from([b"", b"", b"\x81", b"\xff", half, b"\x88\x01\x00"]))


@pytest.mark.parametrize("side", ["server", "client"])
@given(data=st.data())
def test_the_messages_are_those_of_the_library(side: str, data: st.DataObject) -> None:
    """Messages, answers to pings and closing frames are those of the library, wherever the bytes are cut."""
    written = data.draw(streams(mask=side == "server"))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(written)), max_size=6)))
    alone, ours = end(side), end(side)
    stream = MessageStream(ours, LIMIT)
    expected = read_by_library(alone, written)
    messages = [
        message
        for begin, stop in zip([0, *cuts], [*cuts, len(written)], strict=True)
        for message in stream.receive(written[begin:stop])
    ]
    assert messages == expected
    assert ours.state is alone.state
    # A client masks its closing frame anew each time, so the frame is compared as a server reads it.
    assert answers(ours, side) == answers(alone, side)


def answers(protocol: Protocol, side: str) -> list[Any]:
    """Return the frames that one end has sent by itself."""
    other = end("client" if side == "server" else "server")
    other.receive_data(b"".join(protocol.data_to_send()))
    return [(frame.opcode, bytes(frame.data)) for frame in other.events_received() if isinstance(frame, Frame)]


@pytest.mark.parametrize("side", ["server", "client"])
@given(size=SIZES.filter(lambda size: size <= LIMIT))
@example(size=125)
@example(size=126)
@example(size=65_535)
@example(size=65_536)
def test_the_library_reads_what_is_written(side: str, size: int) -> None:
    """A text of any length arrives whole at the library's other end."""
    message = os.urandom(size)
    server, client = connected()
    writer, reader = (server, client) if side == "server" else (client, server)
    assert read_by_library(reader, MessageStream(writer, None).text(message)) == [message]


def test_a_client_masks_each_message_differently() -> None:
    """RFC 6455, section 5.3: the mask of a frame cannot be foreseen."""
    stream = MessageStream(end("client"), None)
    assert len({stream.text(b"the same") for _ in range(20)}) == 20


def test_parts_without_content_take_no_memory() -> None:
    """A message may have any number of empty frames; none of them is kept."""
    stream = MessageStream(end("server"), LIMIT)
    begin = Frame(Opcode.TEXT, b"a", False).serialize(mask=True)
    empty = Frame(Opcode.CONT, b"", False).serialize(mask=True)
    assert stream.receive(begin + empty * 1000) == []
    assert stream._parts == [b"a"]
    assert stream.receive(Frame(Opcode.CONT, b"b", True).serialize(mask=True)) == [b"ab"]
