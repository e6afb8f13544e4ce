"""An MCP server that keeps notes in a file, as published servers do. Plain Python, so that it starts in no time.

Arguments: the file of the notes, and a greeting. It has the tools "write" and "read", and each note is a resource.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

NOTES, GREETING = Path(sys.argv[1]), sys.argv[2]
TOOLS = [
    {"name": "write", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}},
    {"name": "read", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "meet", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
]
together = threading.Barrier(2)


def lines() -> list[str]:
    return NOTES.read_text().splitlines() if NOTES.exists() else []


def answer(method: str, given: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        capabilities = {"tools": {}, "resources": {}}
        info = {"name": "notes", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        if given["name"] == "write":
            with NOTES.open("a") as file:
                file.write(given["arguments"]["text"] + "\n")
        if given["name"] == "meet":
            together.wait(60)
        return {"content": [{"type": "text", "text": " ".join([GREETING, str(os.getpid()), *lines()])}]}
    if method == "resources/list":
        return {"resources": [{"uri": f"note:///{n}", "name": f"note {n}"} for n in range(len(lines()))]}
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"uriTemplate": "note:///{n}", "name": "a note", "mimeType": "text/plain"}]}
    if method == "resources/read":
        text = lines()[int(given["uri"].rpartition("/")[2])]
        return {"contents": [{"uri": given["uri"], "mimeType": "text/plain", "text": text}]}
    raise ValueError(f"unknown method {method}")


def respond(request: dict[str, Any]) -> None:
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
    try:
        reply["result"] = answer(request["method"], request.get("params", {}))
    except Exception as error:
        reply["error"] = {"code": -32603, "message": f"{type(error).__name__}: {error}"}
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        threading.Thread(target=respond, args=(message,), daemon=True).start()
