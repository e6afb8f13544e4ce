"""An agent program of a few lines, with nothing but Python's library: ``tiny_agent.py BEHAVIOUR [FILE]``.

It plays an episode as agent programs do: asks its model, carries out the calls of the answer, and says the last word.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

FOREVER = "import time; time.sleep(3600)"


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


def ask(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the model's next message."""
    function = {"name": "act", "parameters": {"type": "object", "properties": {"action": {"type": "string"}}}}
    body = {"model": "m", "messages": messages, "tools": [{"type": "function", "function": function}]}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    answer: dict[str, Any] = post(url, os.environ["OPENAI_API_KEY"], body)["choices"][0]["message"]
    return answer


def call(name: str, arguments: dict[str, Any]) -> str:
    """Return the text of a tool's result."""
    parameters = {"name": name, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}
    result = post(os.environ["GEM_MCP_URL"], os.environ["GEM_MCP_KEY"], body)["result"]
    return "\n".join(part["text"] for part in result["content"])


def play() -> str:
    """Play to the end of the episode and return the last word."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": sys.stdin.read()}]
    while True:
        message = ask(messages)
        messages.append(message)
        if not message.get("tool_calls"):
            return str(message["content"])
        for one in message["tool_calls"]:
            function = one["function"]
            result = call(function["name"], json.loads(function["arguments"]))
            messages.append({"role": "tool", "tool_call_id": one["id"], "content": result})


def main(behaviour: str, file: str) -> None:
    """Do as the behaviour says."""
    if behaviour == "fails":
        sys.exit("no configuration found")
    if behaviour == "answers":
        print("forty-two")
    if behaviour in ("hangs", "is_killed", "leaves_a_daemon"):
        daemon = subprocess.Popen([sys.executable, "-c", FOREVER], start_new_session=True)
        Path(file).write_text(f"{daemon.pid} {os.getpid()}")
    if behaviour == "is_killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if behaviour in ("kills_itself", "kills_its_keeper"):
        call("act", {"action": "\\boxed{5}"})
        os.kill(os.getpid() if behaviour == "kills_itself" else os.getppid(), signal.SIGKILL)
    if behaviour == "hangs":
        time.sleep(3600)
    if behaviour == "floods":
        for _ in range(64):
            sys.stdout.write("x" * 100_000)
            sys.stderr.write("y" * 100_000)
    if behaviour == "gives_up":
        call("act", {"action": "\\boxed{5}"})
        print("I cannot do it.")
    if behaviour == "shows_variables":
        Path(file).write_text(json.dumps(dict(os.environ)))
    if behaviour == "calls_two_at_once":
        threads = [threading.Thread(target=call, args=("act", {"action": f"\\boxed{{{n}}}"})) for n in (9, 10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if behaviour in ("plays", "leaves_a_daemon", "floods", "shows_variables", "calls_after_the_end", "talks_on"):
        print(play())
    if behaviour == "calls_after_the_end":
        Path(file).write_text(call("act", {"action": "\\boxed{1}"}))
    if behaviour == "talks_on":
        answers, status = 0, 200
        while status == 200 and answers < 50:
            try:
                ask([{"role": "user", "content": "And now?"}])
                answers += 1
            except urllib.error.HTTPError as error:
                status = error.code
                error.close()
        Path(file).write_text(f"{answers} {status}")


main(sys.argv[1], sys.argv[2])
