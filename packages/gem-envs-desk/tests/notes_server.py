"""An MCP server over standard input and output, without a library, so that it starts in no time.

It keeps notes: ``add_note``, ``retitle_note``, ``delete_note``, ``list_notes``. ``NOTES`` in the environment is a word
for how it behaves: ``file`` keeps the notes in the file ``NOTES_FILE``, ``hidden`` has no tool that shows them, and
``blind`` shows nothing of what is written. ``tickets`` has other tools, in the manner of published servers: keys that
the server chooses, times, optional arguments, and words that only a description lists.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import uuid
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

MODE = os.environ.get("NOTES", "")
FILE = Path(os.environ.get("NOTES_FILE", "notes.json"))

TEXT = {"type": "string"}
TOOLS = {
    "add_note": (["title", "text"], {"title": TEXT, "text": TEXT}),
    "retitle_note": (["title", "newTitle"], {"title": TEXT, "newTitle": TEXT}),
    "delete_note": (["title"], {"title": TEXT}),
    "ring_bell": ([], {}),
    "list_notes": ([], {}),
}
NUMBER = {"type": "integer"}
TICKET_TOOLS = {
    "ticket_list": ([], {}),
    "get_report": ([], {}),
    "ticket_new": (
        ["subject", "sort"],
        {
            "subject": TEXT,
            "sort": {**TEXT, "description": "question, fault or wish"},
            "urgency": {"anyOf": [NUMBER, {"type": "null"}], "default": None},
        },
    ),
    "ticket_close": (["ticket_id"], {"ticket_id": NUMBER}),
    "ticket_seal": (["seal"], {"seal": TEXT}),
    "ticket_lose": (["reason"], {"reason": TEXT}),
}
KEYS = itertools.count(1)
TICKETS: list[dict[str, Any]] = []
LOST: list[str] = []


def load() -> list[dict[str, str]]:
    return json.loads(FILE.read_text()) if MODE == "file" and FILE.exists() else NOTES


def save(notes: list[dict[str, str]]) -> None:
    NOTES[:] = notes
    if MODE == "file":
        FILE.write_text(json.dumps(notes))


NOTES: list[dict[str, str]] = []


def called(name: str, arguments: dict[str, Any]) -> Any:
    notes = list(load())
    titles = [note["title"] for note in notes]
    if name == "list_notes":
        return {"notes": [] if MODE == "blind" else notes}
    if name == "ring_bell":
        return "ding"
    title = arguments["title"]
    if name == "add_note":
        if title in titles:
            raise ValueError(f"there is a note {title}")
        save([*notes, {"title": title, "text": arguments["text"]}])
        return "added"
    if title not in titles:
        raise ValueError(f"there is no note {title}")
    index = titles.index(title)
    if name == "delete_note":
        save(notes[:index] + notes[index + 1 :])
        return "deleted"
    if arguments["newTitle"] in titles:
        raise ValueError(f"there is a note {arguments['newTitle']}")
    save([*notes[:index], {**notes[index], "title": arguments["newTitle"]}, *notes[index + 1 :]])
    return "retitled"


def ticket_called(name: str, arguments: dict[str, Any]) -> Any:
    now = datetime.now(timezone.utc).isoformat()
    if name == "ticket_lose":
        LOST.append(arguments["reason"])
        return "lost"
    if name == "ticket_list":
        return "none" if LOST else {"tickets": TICKETS, "place": str(Path.cwd())}
    if name == "get_report":
        return {"made_at": now, "number": str(uuid.uuid4())}
    if name == "ticket_new":
        if arguments["sort"] not in ("question", "fault", "wish"):
            raise ValueError("no such sort")
        given = {key: arguments.get(key) for key in ("subject", "sort", "urgency")}
        TICKETS.append({"id": next(KEYS), **given, "open": True, "seal": str(uuid.uuid4()), "created_at": now})
        return TICKETS[-1]
    for ticket in TICKETS:
        if ticket["open"] and (ticket["id"], ticket["seal"]).count(arguments.get("ticket_id", arguments.get("seal"))):
            ticket.update(open=False, closed_at=now)
            return f"closed at {now}"
    raise ValueError("no such ticket")


def answer(method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {
            "protocolVersion": parameters["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "notes", "version": "1"},
        }
    if method == "tools/list":
        tools = TICKET_TOOLS if MODE == "tickets" else TOOLS
        shown = {name: of for name, of in tools.items() if not (MODE == "hidden" and name == "list_notes")}
        return {
            "tools": [
                {"name": name, "inputSchema": {"type": "object", "properties": properties, "required": required}}
                for name, (required, properties) in shown.items()
            ]
        }
    try:
        carry_out = ticket_called if MODE == "tickets" else called
        text, failed = json.dumps(carry_out(parameters["name"], parameters.get("arguments", {}))), False
    except ValueError as error:
        text, failed = str(error), True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        known = message["method"] in ("initialize", "tools/list", "tools/call", "ping")
        tool = message.get("params", {}).get("name") if message["method"] == "tools/call" else None
        if not known:
            result = {"error": {"code": -32601, "message": "unknown"}}
        elif tool is not None and tool not in {**TOOLS, **TICKET_TOOLS}:
            result = {"error": {"code": -32602, "message": f"there is no tool {tool}"}}
        else:
            result = {"result": answer(message["method"], message.get("params", {}))}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **result}), flush=True)
