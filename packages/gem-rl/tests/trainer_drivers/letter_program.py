"""An agent program for ``LetterHunt``: it shows its model each question in a conversation of its own, and acts so."""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from typing import Any


def post(url: str, key: str, body: dict[str, Any]) -> Any:
    """Return the JSON answer to a request."""
    headers = {
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
    }
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
        return json.loads(answer.read())


def main() -> None:
    """Play until the episode is over."""
    shown = sys.stdin.read()
    while "The episode is over" not in shown:
        asked = {"model": "m", "messages": [{"role": "user", "content": shown.splitlines()[0]}]}
        url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
        said = post(url, os.environ["OPENAI_API_KEY"], asked)["choices"][0]["message"]["content"]
        call = {"name": "act", "arguments": {"action": said}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        result = post(os.environ["GEM_MCP_URL"], os.environ["GEM_MCP_KEY"], body)["result"]
        shown = "\n".join(part["text"] for part in result["content"])


main()
