"""An MCP server over standard input and output, without a library, so that it starts in no time.

It keeps notes: ``add_note``, ``retitle_note``, ``delete_note``, ``list_notes``. ``NOTES`` in the environment is a word
for how it behaves: ``file`` keeps the notes in the file ``NOTES_FILE``, ``hidden`` has no tool that shows them, and
``blind`` shows nothing of what is written.
"""

from __future__ import annotations

import json
import os
import sys
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


def answer(method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {
            "protocolVersion": parameters["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "notes", "version": "1"},
        }
    if method == "tools/list":
        shown = {name: of for name, of in TOOLS.items() if not (MODE == "hidden" and name == "list_notes")}
        return {
            "tools": [
                {"name": name, "inputSchema": {"type": "object", "properties": properties, "required": required}}
                for name, (required, properties) in shown.items()
            ]
        }
    try:
        text, failed = json.dumps(called(parameters["name"], parameters.get("arguments", {}))), False
    except ValueError as error:
        text, failed = str(error), True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        known = message["method"] in ("initialize", "tools/list", "tools/call", "ping")
        result = {"result": answer(message["method"], message.get("params", {}))} if known else {
            "error": {"code": -32601, "message": "unknown"}
        }  # fmt: skip
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **result}), flush=True)
