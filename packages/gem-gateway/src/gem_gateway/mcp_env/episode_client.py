#!/usr/bin/env python3
"""Reaches the episode of an agent program, from its variables GEM_MCP_URL and GEM_MCP_KEY, with nothing but Python.

    episode tools                    the tools of the episode
    episode call NAME JSON           call one: JSON holds its arguments; "-" reads them from standard input
    episode act TEXT                 play a turn with a text; "-" reads it from standard input
    episode stdio                    an MCP server over standard input and output, for programs that know no other

The file is copied into folders of programs and runs there alone.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any

_VERSION = "2025-06-18"


def main(arguments: list[str]) -> int:
    """Do what the arguments say and return the exit code: 2 for wrong arguments, 1 for a call that failed."""
    if arguments[:1] == ["stdio"]:
        return _relay()
    if arguments == ["tools"]:
        for tool in _asked("tools/list", {})["tools"]:
            sys.stdout.write(f"{tool['name']}: {tool.get('description', '')}\n  {json.dumps(tool['inputSchema'])}\n")
        return 0
    if len(arguments) == 2 and arguments[0] == "act":
        return _called("act", {"action": _given(arguments[1])})
    if len(arguments) in (2, 3) and arguments[0] == "call":
        try:
            values = json.loads(_given(arguments[2])) if len(arguments) == 3 else {}
        except ValueError as error:
            return _complain(f"the arguments of {arguments[1]} are not JSON: {error}")
        if not isinstance(values, dict):
            return _complain(f"the arguments of {arguments[1]} must be a JSON object")
        return _called(arguments[1], values)
    return _complain(__doc__ or "")


def _given(text: str) -> str:
    return sys.stdin.read() if text == "-" else text


def _complain(message: str) -> int:
    sys.stderr.write(f"{message}\n")
    return 2


def _called(name: str, arguments: dict[str, Any]) -> int:
    result = _asked("tools/call", {"name": name, "arguments": arguments})
    for part in result["content"]:
        sys.stdout.write(part.get("text", f"[{part.get('type')}]") + "\n")
    return 1 if result.get("isError") else 0


def _asked(method: str, parameters: dict[str, Any]) -> Any:
    answer = json.loads(_sent({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}))
    if "error" in answer:
        raise SystemExit(f"{method}: {answer['error'].get('message')}")
    return answer["result"]


def _sent(message: Any) -> bytes:
    headers = {
        "Authorization": f"Bearer {os.environ['GEM_MCP_KEY']}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": _VERSION,
    }
    request = urllib.request.Request(os.environ["GEM_MCP_URL"], json.dumps(message).encode(), headers)  # noqa: S310
    # No proxy stands between a program and its own episode, whatever the variables say.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        raise SystemExit(f"the episode cannot be reached: HTTP {error.code}") from None
    except OSError as error:
        raise SystemExit(f"the episode cannot be reached: {error}") from None


def _relay() -> int:
    for line in sys.stdin:
        if not line.strip():
            continue
        message = json.loads(line)
        answer = _sent(message)
        if "id" in message and answer:
            sys.stdout.write(answer.decode() + "\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
