"""Clients that are slow, malformed, too large or strangers: they harm nobody else, and the server lives on."""

from __future__ import annotations

import http.client
import json
import os
import socket
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import RunningServer

pytestmark = pytest.mark.xdist_group("environment server hostile")

HANDSHAKE = (
    "GET /v1/socket HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{more}\r\n"
)


@pytest.fixture(scope="module")
def tight(serve: Any, faulty_specs: dict[str, str]) -> Iterator[RunningServer]:
    """A server with tight limits, and in it a well-behaved session that must never notice anything."""
    options = ("--max-message", "65536", "--max-connections", "40", "--workers", "1")
    with serve("faulty", *options, **faulty_specs) as started:
        with gem.make_vec(started.env("faulty:Counting-v0"), num_envs=4, seed=1, mode="server") as envs:
            envs.reset()
            yield started
            assert envs.step(["x"] * 4)[0] == ["1: x"] * 4
        assert get(started, "/health") == 200


def get(server: RunningServer, path: str) -> int:
    """Return the status of a page."""
    with closing(http.client.HTTPConnection(server.host, server.port, timeout=60)) as connection:
        connection.request("GET", path)
        return connection.getresponse().status


def connected(server: RunningServer) -> socket.socket:
    """Return a raw connection."""
    return socket.create_connection((server.host, server.port), timeout=60)


def upgraded(server: RunningServer, more: str = "") -> socket.socket:
    """Return a raw connection after the handshake."""
    raw = connected(server)
    raw.sendall(HANDSHAKE.format(more=more).encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += raw.recv(1)
    assert answer.startswith(b"HTTP/1.1 101 ")
    return raw


def frame(payload: bytes, opcode: int = 1, fin: bool = True, length: int | None = None) -> bytes:
    """Return a masked frame; ``length`` overrides the announced one."""
    size = len(payload) if length is None else length
    head = bytes([(128 if fin else 0) | opcode])
    head += bytes([128 | size]) if size < 126 else bytes([128 | 127]) + size.to_bytes(8, "big")
    return head + bytes(4) + payload


def first_byte(raw: socket.socket) -> bytes:
    """Ask for a page, and return the first byte of the answer; b"" from a closed connection."""
    try:
        raw.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        return raw.recv(1)
    except ConnectionError:
        return b""


def rest(raw: socket.socket) -> bytes:
    """Return all that still comes, until the server closes."""
    received = b""
    while True:
        try:
            data = raw.recv(65536)
        except ConnectionError:
            return received
        if not data:
            return received
        received += data


def close_code(raw: socket.socket) -> int:
    """Return the status of the closing frame that comes last."""
    received = rest(raw)
    return int.from_bytes(received[received.rindex(b"\x88") + 2 :][:2], "big")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"400"),
        (b"GET / HTTP/9.9\r\n\r\n", b"403"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /" + b"x" * 40_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", b"431"),
        (b"POST /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999999\r\n\r\n", b"413"),
        (b"POST /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n", b"400"),
        (b"GET /v1/environments HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"403"),
        (HANDSHAKE.format(more="Origin: http://evil.example\r\n").encode(), b"403"),
        (HANDSHAKE.replace("Version: 13", "Version: 7").format(more="").encode(), b"400"),
        (HANDSHAKE.replace("/v1/socket", "/elsewhere").format(more="").encode(), b"404"),
    ],
    ids=["TLS", "version", "no host", "long", "huge", "negative", "rebinding", "origin", "old protocol", "path"],
)
def test_what_is_no_good_request_is_answered_and_closed(tight: RunningServer, sent: bytes, status: bytes) -> None:
    """Each gets a status that says why, and the connection is closed at once."""
    with connected(tight) as raw:
        raw.sendall(sent)
        assert rest(raw).split(b" ")[1] == status


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (frame(b"", length=1 << 40), 1009),
        (frame(b"[" + b" " * 65536 + b"]"), 1009),
        (frame(b"\xff\xfe"), 1003),
        (frame(b"{}"), 1003),
        (frame(b"[1]"), 1003),
        (frame(b'[["a", "b", "step"]]'), 1003),
        (frame(b"[" * 30_000), 1003),
        (frame(b'[[1, -1, "step", 1]]'), 1003),
        (b"\x81\x05hello", 1002),
        (frame(b"x", opcode=3), 1002),
        (frame(b"x", opcode=0), 1002),
    ],
    ids=[
        "announced",
        "large",
        "no UTF-8",
        "object",
        "numbers",
        "strings",
        "deep",
        "negative",
        "unmasked",
        "opcode",
        "continued",
    ],
)
def test_a_bad_frame_closes_its_connection_with_the_reason(tight: RunningServer, sent: bytes, code: int) -> None:
    """The status of the closing frame says what kind of fault it was."""
    with upgraded(tight) as raw:
        raw.sendall(sent)
        assert close_code(raw) == code


CALLS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from(["open", "step", "reset", "close", "get_state", "set_state", "sample", "make", 3, None])
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "session": CALLS | st.text(min_size=16, max_size=20),
        "env": CALLS | st.just("faulty:Counting-v0"),
        "seed": CALLS,
        "autoreset": CALLS,
        "lost": CALLS,
        "account": CALLS,
        "wrappers": CALLS,
        "arguments": CALLS,
        "step_timeout": CALLS,
        "resume": CALLS,
    },
)


@pytest.mark.slow(reason="each example is a connection, and hypothesis has to explore")
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(
    messages=st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), NAMES, FIELDS | CALLS), max_size=5) | CALLS, max_size=6
    ),
    junk=st.binary(max_size=40),
)
def test_no_message_breaks_the_server(tight: RunningServer, messages: list[Any], junk: bytes) -> None:
    """Whatever is sent after the handshake, the server answers or closes, and answers the next client."""
    with upgraded(tight) as raw:
        try:
            for message in messages:
                raw.sendall(frame(json.dumps(message).encode()))
            raw.sendall(junk)
            raw.shutdown(socket.SHUT_WR)
        except OSError:  # the server has closed it
            pass
        rest(raw)
    assert get(tight, "/health") == 200


@pytest.mark.slow(reason="it waits until slow clients are cut off")
def test_a_client_that_sends_slowly_is_cut_off(serve: Any, faulty_specs: dict[str, str]) -> None:
    """A head, a body or a TLS greeting that never ends costs a connection for its time, and no longer."""
    import subprocess
    import sys

    code = (
        "import asyncio\n"
        "from gem_server import EnvironmentServer, ServingSettings, served_specs\n"
        "async def main():\n"
        "    settings = ServingSettings(workers=1, request_timeout=0.5)\n"
        "    server = EnvironmentServer(served_specs(['faulty']), settings=settings)\n"
        "    print(await server.start('127.0.0.1', 0), flush=True)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env={**os.environ, **faulty_specs}
    )
    try:
        assert process.stdout is not None
        address = ("127.0.0.1", int(process.stdout.readline()))
        slow = [socket.create_connection(address, timeout=60) for _ in range(20)]
        for number, raw in enumerate(slow):
            head = b"POST /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50\r\n"
            raw.sendall([b"", head, head + b"\r\n{"][number % 3])
        began = time.monotonic()
        for raw in slow:
            assert rest(raw) == b""
            raw.close()
        assert time.monotonic() - began < 60
        # One that takes no answers is cut off too, and meanwhile holds up nobody.
        with gem.make_vec(f"http://127.0.0.1:{address[1]}/faulty:Counting-v0", num_envs=2, mode="server") as envs:
            envs.reset()
            with socket.create_connection(address, timeout=60) as raw:
                raw.sendall(HANDSHAKE.format(more="").encode())
                wanted = json.dumps([[0, 0, "unknown"]] * 500).encode()
                try:
                    for turn in range(2000):
                        raw.settimeout(60)
                        raw.sendall(frame(wanted))
                        if turn % 100 == 0:
                            envs.step(["x"] * 2)
                except ConnectionError:
                    pass
                else:
                    pytest.fail("it was never cut off")
            assert not envs.step(["x"] * 2)[3].any()
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_connections_are_limited_and_come_back(tight: RunningServer) -> None:
    """Beyond the limit a connection is closed at once; when others leave, there is room again."""
    crowd = [connected(tight) for _ in range(60)]
    try:
        answers = [first_byte(raw) for raw in crowd]
        assert answers.count(b"") >= 20
        assert b"H" in answers
    finally:
        for raw in crowd:
            raw.close()
    end = time.monotonic() + 60
    while True:
        try:
            assert get(tight, "/health") == 200
            break
        except (ConnectionError, http.client.HTTPException):
            assert time.monotonic() < end
