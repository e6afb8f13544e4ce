"""Requests of a hostile program: keys, paths, framing and sizes. None of them gets through."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import zlib
from contextlib import suppress

import aiohttp
import pytest
from raw_calls import BODY, head, post, raw, said, statuses

from gem_eval.clients import ScriptedClient
from gem_gateway import ClientAnswerer, Gateway
from gem_gateway.decompression import ENCODINGS, BodyDecompressor
from gem_gateway.limits import ExchangeLimits


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Basic {key}"},
        {"Authorization": "Bearer {key} x"},
        {"Authorization": "Bearer {key}", "x-api-key": "{other}"},
        {"Authorization": "Bearer {other}"},
        {"x-api-key": "{other}"},
        {"x-goog-api-key": "{other}"},
        {"Authorization": "Bearer {key}", "x-goog-api-key": "{other}"},
        {"x-api-key": "{key}", "x-goog-api-key": "{other}"},
        {"x-api-key": "ключ"},
    ],
    ids=str,
)
def test_nothing_but_its_own_key_opens_a_session(play, headers: dict[str, str]) -> None:
    """A missing, wrong or second key, and the key of another session, are refused alike, before the body is read."""

    async def run() -> None:
        async with play([]) as playing:
            other = playing.gateway.open(ClientAnswerer(ScriptedClient([])), name="other")
            keys = {"key": playing.session.api_key, "other": other.api_key}
            sent = {name: value.format(**keys) for name, value in headers.items()}
            async with aiohttp.ClientSession() as client:
                async with client.post(playing.url("/v1/chat/completions"), data=b"{", headers=sent) as answer:
                    assert answer.status == 401
                    assert (await answer.json())["error"]["type"] == "authentication_error"
                address = playing.url("/v1/chat/completions") + f"?key={playing.session.api_key}"
                async with client.post(address, data=b"{", headers=sent) as answer:
                    assert answer.status == 401
            assert playing.session.calls.calls == other.calls.calls == 0

    asyncio.run(run())


def test_a_key_alone_names_its_session(play) -> None:
    """Without a session in the path, each of several keys leads to its own."""

    async def run() -> None:
        async with play([said("first")]) as playing:
            other = playing.gateway.open(ClientAnswerer(ScriptedClient([said("second")])))
            for key, text in ((other.api_key, b"second"), (playing.session.api_key, b"first")):
                request = head(playing, f"Content-Length: {len(BODY)}", path="/v1/chat/completions", key=key) + BODY
                assert text in await raw(playing, request)

    asyncio.run(run())


PATHS = [
    "/s/{own}/../{other}/v1/chat/completions",
    "/s/{own}/%2e%2e/{other}/v1/chat/completions",
    "/s/{own}/..%2f{other}/v1/chat/completions",
    "//s/{other}/v1/chat/completions",
    "/s//{other}/v1/chat/completions",
    "/s/{other}%2fv1/chat/completions",
    "/s/{other};{own}/v1/chat/completions",
    "/s/{other}%00/v1/chat/completions",
    "http://127.0.0.1/s/{other}/v1/chat/completions",
    "/s/{other}/v1/models/../chat/completions",
    "/s/{own}/v1/v1/chat/completions",
    "/s/{own}/v1/chat/completions/",
    "/s/{own}/v1/files",
    "/v1/../s/{other}/v1/chat/completions",
    "/s/{other}/v1beta/models/m:generateContent",
    "/s/{own}/v1beta/models/../../../{other}/v1beta/models/m:generateContent",
    "/v1beta/models/m:generateContent/../../../s/{other}/v1/chat/completions",
    "/s/{own}/v1beta/models/m:generateContent%3f/s/{other}",
    "/s/{own}/v1beta/models/m:streamGenerateContent",
    "/s/{own}/v1beta/cachedContents",
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("path", PATHS)
def test_no_path_leads_to_another_session(play, path: str) -> None:
    """Paths are compared as they come, and whatever is no endpoint of one's own session is refused."""

    async def run() -> None:
        async with play([said()]) as playing:
            client = ScriptedClient([said("secret")])
            other = playing.gateway.open(ClientAnswerer(client))
            target = path.format(own=playing.session.id, other=other.id)
            answer = await raw(playing, head(playing, f"Content-Length: {len(BODY)}", path=target) + BODY)
            assert statuses(answer)[0] in (400, 401, 404)
            assert b"secret" not in answer
            assert client.prompts == playing.client.prompts == []

    asyncio.run(run())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "TRACE", "OPTIONS", "BREW"])
def test_no_other_method_makes_a_call(play, method: str) -> None:
    """An endpoint of calls takes POST alone."""

    async def run() -> None:
        async with play([said()]) as playing:
            answer = await raw(playing, head(playing, f"Content-Length: {len(BODY)}", method=method) + BODY)
            assert statuses(answer)[0] in (400, 405)
            assert playing.client.prompts == []

    asyncio.run(run())


SMUGGLED = b"POST /s/{other}/v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
FRAMINGS = {
    "length and chunks": [b"Content-Length: %d" % len(BODY), b"Transfer-Encoding: chunked"],
    "two lengths": [b"Content-Length: %d" % len(BODY), b"Content-Length: 3"],
    "a list of lengths": [b"Content-Length: %d, 3" % len(BODY)],
    "a signed length": [b"Content-Length: +%d" % len(BODY)],
    "a length of another base": [b"Content-Length: 0x%x" % len(BODY)],
    "a negative length": [b"Content-Length: -1"],
    "an unknown coding": [b"Transfer-Encoding: xchunked"],
    "chunks not last": [b"Transfer-Encoding: chunked, identity"],
    "a blank before the colon": [b"Transfer-Encoding : chunked"],
    "a folded header": [b"X-A: 1", b" Transfer-Encoding: chunked", b"Content-Length: %d" % len(BODY), b"\x00: 1"],
    "a bare line feed": [b"X-A: 1\nTransfer-Encoding: chunked", b"Content-Length: 3", b"Content-Length: 4"],
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("lines", FRAMINGS.values(), ids=FRAMINGS.keys())
def test_a_request_of_doubtful_length_is_refused_and_its_connection_closed(play, lines: list[bytes]) -> None:
    """What two readers could cut differently is read by none, and nothing after it is taken for a request."""

    async def run() -> None:
        async with play(lambda _: said()) as playing:
            begin = head(playing)[:-2]
            request = begin + b"\r\n".join(lines) + b"\r\n\r\n" + BODY + head(playing, "Content-Length: 2") + b"{}"
            answer = await raw(playing, request.replace(b"Connection: close\r\n", b"", 1))
            assert statuses(answer) in ([400], [413])
            assert playing.client.prompts == []

    asyncio.run(run())


def test_a_request_behind_a_short_length_needs_a_key_of_its_own(play) -> None:
    """What follows a body is a request like any other: without a key it is refused."""

    async def run() -> None:
        async with play(lambda _: said()) as playing:
            first = head(playing, f"Content-Length: {len(BODY)}").replace(b"Connection: close\r\n", b"") + BODY
            second = SMUGGLED.replace(b"{other}", playing.session.id.encode()).replace(
                b"Host: x", b"Host: x\r\nConnection: close"
            )
            assert statuses(await raw(playing, first + second)) == [200, 401]
            assert len(playing.client.prompts) == 1

    asyncio.run(run())


def test_bodies_that_are_too_large_are_refused_before_they_are_held(play) -> None:
    """A limit holds for the announced length, for chunks without one, and for what a compressed body unpacks to."""

    async def run() -> None:
        async with play([said()], limits=ExchangeLimits(max_body=100_000)) as playing:
            answer = await raw(playing, head(playing, "Content-Length: 100001"))
            assert statuses(answer) == [413]
            chunk = b"186a0\r\n" + b" " * 100_000 + b"\r\n"
            answer = await raw(playing, head(playing, "Transfer-Encoding: chunked") + chunk * 2)
            assert statuses(answer) == [413]
            bomb = gzip.compress(b" " * 50_000_000)
            status, _, _ = await post(playing, body=bomb, headers={"Content-Encoding": "gzip"})
            assert status == 413
            assert playing.client.prompts == []
            status, _, _ = await post(playing, body=gzip.compress(BODY), headers={"Content-Encoding": "gzip"})
            assert status == 200

    asyncio.run(run())


@pytest.mark.parametrize("encoding", [name for name in ENCODINGS if name != "identity"])
def test_no_more_than_the_limit_is_unpacked(encoding: str) -> None:
    """A small body that stands for a large one takes no memory beyond the limit, whatever its compression."""
    large = b" " * 10_000_000
    if encoding == "zstd":
        small = pytest.importorskip("backports.zstd").compress(large)
    else:
        small = {"gzip": gzip.compress, "deflate": zlib.compress}[encoding](large)
    assert len(BodyDecompressor(encoding).unpack(small, 1000)) == 1001
    whole = BodyDecompressor(encoding)
    assert whole.unpack(small, len(large)) == large
    whole.finish()
    with pytest.raises(ValueError, match="after the end"):
        whole.unpack(b"x", 10)
    with pytest.raises(ValueError, match="after the end"):
        BodyDecompressor(encoding).unpack(small + b"x", len(large))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("encoding", ["br", "gzip, gzip", "compress", "x-gzip\t", "zstd;q=1"])
def test_an_unknown_compression_is_refused_in_the_dialect(play, encoding: str) -> None:
    """A body that the gateway cannot unpack gets 415 and the names of what it can."""

    async def run() -> None:
        async with play([]) as playing:
            status, _, body = await post(playing, "/v1/messages", b"abc", headers={"Content-Encoding": encoding})
            assert status == 415
            assert "gzip" in json.loads(body)["error"]["message"]

    asyncio.run(run())


def test_a_broken_compression_is_an_error_of_the_request(play) -> None:
    """A body that is not compressed as it says is refused with a reason."""

    async def run() -> None:
        async with play([]) as playing:
            for broken in (b"no gzip", gzip.compress(BODY)[:-12], zlib.compress(BODY)[:-3]):
                encoding = "deflate" if broken[:1] == b"\x78" else "gzip"
                status, _, body = await post(playing, body=broken, headers={"Content-Encoding": encoding})
                assert status == 400
                assert json.loads(body)["error"]["message"]
            assert playing.client.prompts == []

    asyncio.run(run())


def test_zstd_is_read_where_its_library_is_there(play) -> None:
    """A body that is compressed with zstd, as Codex may send it, is unpacked, and within the same limit."""
    zstd = pytest.importorskip("backports.zstd")

    async def run() -> None:
        async with play([said()], limits=ExchangeLimits(max_body=100_000)) as playing:
            headers = {"Content-Encoding": "zstd"}
            assert (await post(playing, body=zstd.compress(BODY), headers=headers))[0] == 200
            assert (await post(playing, body=zstd.compress(b" " * 50_000_000), headers=headers))[0] == 413

    asyncio.run(run())


def test_long_heads_are_refused(play) -> None:
    """A head of many or long headers costs an error, and no session."""

    async def run() -> None:
        async with play([]) as playing:
            for lines in ([f"X-A: {'a' * 100_000}"], [f"X-{number}: 1" for number in range(10_000)]):
                assert statuses(await raw(playing, head(playing, *lines))) in ([400], [431])
            answer = await raw(playing, head(playing, path="/s/" + "a" * 100_000))
            assert statuses(answer) in ([400], [414], [431])

    asyncio.run(run())


def test_a_unix_socket_serves_a_box(tmp_path) -> None:
    """A gateway on a Unix socket answers there, and removes the socket at its end."""

    async def run() -> None:
        path = tmp_path / "gateway"
        async with Gateway(socket_path=path) as gateway:
            session = gateway.open(ClientAnswerer(ScriptedClient([said("yes")])))
            async with aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(path))) as client:
                address = f"http://gateway/s/{session.id}/v1/chat/completions"
                headers = {"x-api-key": session.api_key}
                async with client.post(address, data=BODY, headers=headers) as answer:
                    assert (await answer.json())["choices"][0]["message"]["content"] == "yes"
        assert not path.exists()

    asyncio.run(run())


def test_a_door_serves_its_session_alone() -> None:
    """On a further socket, which leads into a box, the key of another session opens nothing, not even its own."""

    async def run() -> None:
        async with Gateway() as gateway:
            door = socket.create_server(("127.0.0.1", 0))
            origin = "http://{}:{}".format(*door.getsockname())
            inside, other = (
                gateway.open(ClientAnswerer(ScriptedClient(lambda _: "yes")), origin=at) for at in (origin, None)
            )
            found = {}
            async with gateway.listening(door, inside), aiohttp.ClientSession() as client:
                for name, session, key in (
                    ("own", inside, inside.api_key),
                    ("other's key", inside, other.api_key),
                    ("other", other, other.api_key),
                ):
                    address = f"{origin}/s/{session.id}/v1/chat/completions"
                    async with client.post(address, data=BODY, headers={"x-api-key": key}) as answer:
                        found[name] = answer.status
                address = f"{other.base_url()}/chat/completions"
                async with client.post(address, data=BODY, headers={"x-api-key": other.api_key}) as answer:
                    found["other at the gateway"] = answer.status
            assert found == {"own": 200, "other's key": 401, "other": 401, "other at the gateway": 200}

    asyncio.run(run())


def test_a_program_cannot_hold_connections_without_end(play) -> None:
    """At its door, those beyond twice its parallel calls are closed unheard, and the others go on."""

    async def run() -> None:
        async with play(lambda _: said(), limits=ExchangeLimits(parallel_calls=3)) as playing:
            request = head(playing, f"Content-Length: {len(BODY)}").replace(b"Connection: close\r\n", b"") + BODY
            door = socket.create_server(("127.0.0.1", 0))
            address = door.getsockname()

            async def answered() -> bytes:
                reader, writer = await asyncio.open_connection(*address)
                held.append(writer)
                writer.write(request)
                with suppress(ConnectionError):
                    return await asyncio.wait_for(reader.readline(), 60)
                return b""

            held: list[asyncio.StreamWriter] = []
            async with playing.gateway.listening(door, playing.session):
                heard = [await answered() for _ in range(8)]
                for writer in held:
                    writer.close()
            assert [b" 200 " in line for line in heard] == [True] * 6 + [False] * 2

    asyncio.run(run())
