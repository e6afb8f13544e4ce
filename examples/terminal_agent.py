"""A chat model works on a terminal task through native tool calls.

::

    python examples/terminal_agent.py ledger
    python examples/terminal_agent.py ledger --base-url http://localhost:8000/v1 --model my-model
    python examples/terminal_agent.py path/to/my-task --engine namespace

Without ``--base-url`` a stand-in plays, which looks around and gives up: enough to see that the engine works. The model
can be any server that speaks the chat-completions API with tools; its key is read from ``OPENAI_API_KEY``.
"""

from __future__ import annotations

import argparse
import json
import os
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gem_terminal import TerminalEnv

Message = dict[str, Any]
Model = Callable[[list[Message], list[dict[str, Any]]], Message]


def main() -> None:
    """Play one episode and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("task", help="the name of a bundled task, or the folder of one")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--base-url", help="of a chat-completions API, up to /v1")
    parser.add_argument("--model", default="default")
    parser.add_argument("--max-turns", type=int, default=30)
    arguments = parser.parse_args()
    model = _Server(arguments.base_url, arguments.model) if arguments.base_url else _stand_in
    where = {"path": arguments.task} if Path(arguments.task).is_dir() else {"task": arguments.task}
    with TerminalEnv(**where, engine=arguments.engine, max_turns=arguments.max_turns) as env:
        play(env, model)


def play(env: TerminalEnv, model: Model) -> float:
    """Let a model play an episode; return its reward."""
    observation, _ = env.reset()
    messages: list[Message] = [{"role": "user", "content": observation}]
    print(observation)
    while True:
        message = model(messages, env.tool_schemas)
        messages.append(message)
        observation, reward, terminated, truncated, info = env.step(message)
        for call in message.get("tool_calls") or ():
            print(f"\n> {call['function']['name']} {call['function']['arguments']}")
        if terminated or truncated:
            print(f"\n{info.get('verifier_log', '')}\nReward {reward:g} after {info['turn']} turns.")
            return reward
        print(observation)
        # Each call is answered by its id; a message without a call gets the instructions.
        results = info.get("tool_results")
        messages += (
            [{"role": "tool", "tool_call_id": each["tool_call_id"], "content": each["text"]} for each in results]
            if results
            else [{"role": "user", "content": observation}]
        )


class _Server:
    def __init__(self, base_url: str, model: str) -> None:
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._model = model

    def __call__(self, messages: list[Message], tools: list[dict[str, Any]]) -> Message:
        body = json.dumps({"model": self._model, "messages": messages, "tools": tools}).encode()
        headers = {
            "Content-Type": "application/json",
            "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '-')}",
        }
        with urllib.request.urlopen(urllib.request.Request(self._url, body, headers), timeout=600) as answer:
            message: Message = json.load(answer)["choices"][0]["message"]
        return message


def _stand_in(messages: list[Message], tools: list[dict[str, Any]]) -> Message:
    plan = [
        ("bash", {"command": "id; pwd; ls -la"}),
        ("bash", {"command": "cat /etc/os-release | head -2"}),
        ("finish", {}),
    ]
    name, given = plan[sum(message["role"] == "assistant" for message in messages)]
    function = {"name": name, "arguments": json.dumps(given)}
    call = {"id": f"call-{len(messages)}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


if __name__ == "__main__":
    main()
