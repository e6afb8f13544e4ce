"""Functions that ``python:python_agents:NAME`` runs: some play, and some do what they should not."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator
from typing import Any

from gem_gateway.harnesses import AgentTask

number = 5


def act(task: AgentTask, action: str) -> str:
    """Return what the environment says to an action."""
    call = {"name": "act", "arguments": {"action": action}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    headers = {
        "Authorization": f"Bearer {task.mcp_key}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
    }
    request = urllib.request.Request(task.mcp_url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        parts = json.loads(answer.read())["result"]["content"]
    return "\n".join(part["text"] for part in parts)


def halves(task: AgentTask) -> None:
    """Win by binary search."""
    low, high, shown = 1, 10, ""
    while "The episode is over" not in shown:
        guess = (low + high) // 2
        shown = act(task, f"\\boxed{{{guess}}}")
        low, high = (guess + 1, high) if "higher" in shown else (low, guess - 1)


async def halves_later(task: AgentTask) -> str:
    """Do the same in an event loop."""
    await asyncio.to_thread(halves, task)
    return "done"


class Halving:
    """A function that is an object's."""

    @staticmethod
    def play(task: AgentTask) -> None:
        """Win."""
        halves(task)


def prints(task: AgentTask) -> None:
    """Win, and print a lot."""
    print("\x1b[2J" + "x" * 1_000_000)
    print("y" * 1_000_000, file=sys.stderr)
    halves(task)


def forks(task: AgentTask) -> None:
    """Win, and leave a process in a session of its own."""
    daemon = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True)
    act(task, f"daemon {daemon.pid}")
    halves(task)


def raises(task: AgentTask) -> None:
    """Fail before the first call."""
    raise ValueError("no\nplan")


def raises_later(task: AgentTask) -> None:
    """Fail after the first call."""
    act(task, "\\boxed{1}")
    raise ValueError("no plan")


async def stops_its_loop(task: AgentTask) -> None:
    """Stop the event loop that runs it."""
    asyncio.get_running_loop().stop()
    await asyncio.sleep(60)


async def closes_its_loop(task: AgentTask) -> None:
    """Close the event loop that runs it."""
    asyncio.get_running_loop().close()


def exits(task: AgentTask) -> None:
    """End the process without a word."""
    os._exit(3)


def hangs(task: AgentTask) -> None:
    """Never return, and take no interest in signals."""
    while True:
        time.sleep(60)


async def yields(task: AgentTask) -> AsyncIterator[str]:
    """Be no function of a task."""
    yield "x"


def answers(task: AgentTask) -> Any:
    """Return what is no text."""
    return {"number": 3, "half": "\ud800"}
