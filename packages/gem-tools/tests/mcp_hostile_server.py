"""An MCP server over standard input and output that does whatever a test wants, well or badly.

Plain Python, without the SDK: it starts in no time, and can break the protocol. It keeps a diary in the file that its
first argument names: a line for its start, for every call and cancellation, and for its orderly end. A file "released"
beside the diary lets the tool "busy" come to its end.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import threading
import time
from pathlib import Path

DIARY = Path(sys.argv[1])
START = sys.argv[2] if len(sys.argv) > 2 else ""

ANY = {"type": "object"}
TOOLS = [
    {"name": "echo", "description": "Return the text.", "inputSchema": {"type": "object", "properties": {"text": {}}}},
    {"name": "count", "inputSchema": ANY},
    *({"name": name, "inputSchema": ANY} for name in ("hang", "block", "die", "flood", "garbage", "unreadable")),
    {"name": "busy", "inputSchema": ANY},
    *({"name": name, "inputSchema": ANY} for name in ("half", "endless", "chatter", "complain", "media", "nested")),
    {
        "name": "wrong_data",
        "inputSchema": ANY,
        "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    },
    {
        "name": "data",
        "inputSchema": ANY,
        "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    },
    {"name": "fail", "inputSchema": ANY},
    {"name": "refuse", "inputSchema": ANY},
    {"name": "dotted.name/with spaces", "inputSchema": ANY},
    {"name": "x" * 100, "inputSchema": {**ANY, "$defs": {"a": {"anyOf": [True, {"const": None}]}}}},
]
PIXEL = base64.b64encode(b"not really a picture").decode()
MEDIA = [
    {"type": "text", "text": "look"},
    {"type": "image", "data": PIXEL, "mimeType": "image/png"},
    {"type": "audio", "data": PIXEL, "mimeType": "audio/wav"},
    {"type": "audio", "data": PIXEL, "mimeType": "audio/ogg"},
    {"type": "resource", "resource": {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "inside"}},
    {"type": "resource", "resource": {"uri": "file:///a.png", "mimeType": "image/png", "blob": PIXEL}},
    {"type": "resource", "resource": {"uri": "file:///a.bin", "blob": PIXEL}},
    {"type": "resource_link", "uri": "file:///b.txt", "name": "b", "description": "another"},
]

lock = threading.Lock()
calls = 0


def note(line: str) -> None:
    with DIARY.open("a", encoding="utf-8") as diary:
        diary.write(line + "\n")


def write(line: str) -> None:
    with lock:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def send(**message: object) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}))


def text(identifier: object, content: str, **more: object) -> None:
    send(id=identifier, result={"content": [{"type": "text", "text": content}], **more})


def call(identifier: object, name: str, arguments: dict) -> None:
    global calls
    calls += 1
    note(f"call {name}")
    if name == "echo" or name.startswith(("dotted", "x")):
        text(identifier, str(arguments.get("text", name)))
    elif name == "count":
        text(identifier, str(calls))
    elif name == "block":
        time.sleep(1000)
    elif name == "busy":
        while not DIARY.with_name("released").exists():
            time.sleep(0.01)
        text(identifier, "done")
    elif name == "die":
        print("about to fall over", file=sys.stderr, flush=True)
        os._exit(7)
    elif name == "flood":
        text(identifier, "a" * arguments["size"] + "z")
    elif name == "garbage":
        write("INFO: this is no message")
        write('{"neither": "is this"}')
        text(identifier, "fine all the same")
    elif name == "unreadable":
        send(id=identifier, result="not an object")
    elif name == "half":
        write(f'{{"jsonrpc": "2.0", "id": {identifier}, "result": {{"content": [')
    elif name == "endless":
        while True:
            sys.stdout.write("e" * 65536)
    elif name == "chatter":
        for number in range(20_000):
            send(method="notifications/message", params={"level": "info", "data": f"line {number}"})
        text(identifier, "done")
    elif name == "complain":
        for _ in range(400):
            sys.stderr.write("complaint " * 2000 + "\n")
        text(identifier, "done")
    elif name == "media":
        send(id=identifier, result={"content": MEDIA})
    elif name == "nested":
        value: object = 1
        for _ in range(arguments.get("depth", 100)):
            value = [value]
        text(identifier, "deep", structuredContent={"value": value})
    elif name == "wrong_data":
        text(identifier, "n is a word", structuredContent={"n": "word"})
    elif name == "data":
        text(identifier, '{"n": 5}', structuredContent={"n": 5})
    elif name == "fail":
        text(identifier, "that cannot be done", isError=True)
    elif name == "refuse":
        send(id=identifier, error={"code": -32602, "message": "not with me"})
    # "hang" is answered by nothing at all


def main() -> None:
    note(f"start {os.getpid()}")
    if START == "die":
        sys.exit("no licence found")
    if START == "garbage":
        write("Welcome to the server!")
    if START == "silence":
        time.sleep(1000)
    for line in sys.stdin:
        message = json.loads(line)
        method, identifier = message.get("method"), message.get("id")
        if method == "notifications/cancelled":
            note(f"cancelled {message['params']['requestId']}")
        elif identifier is None or method is None:
            continue
        elif method == "initialize":
            capabilities = {"tools": {}}
            info = {"name": "hostile", "version": "1"}
            version = message["params"]["protocolVersion"]
            send(id=identifier, result={"protocolVersion": version, "capabilities": capabilities, "serverInfo": info})
        elif method == "tools/list" and START == "bad tools":
            send(id=identifier, result={"tools": [{"name": 5, "inputSchema": "x"}]})
        elif method == "tools/list":
            # In pages, to see that all are read.
            begin = int((message.get("params") or {}).get("cursor", 0))
            more = {"nextCursor": str(begin + 10)} if begin + 10 < len(TOOLS) else {}
            send(id=identifier, result={"tools": TOOLS[begin : begin + 10], **more})
        elif method == "tools/call":
            call(identifier, message["params"]["name"], message["params"].get("arguments") or {})
        elif method == "ping":
            send(id=identifier, result={})
        else:
            send(id=identifier, error={"code": -32601, "message": "no such method"})
    note("end")


if __name__ == "__main__":
    main()
