"""Compares a warm call through `MCPTool` with one through the MCP SDK's own persistent session, paired in one run.

    python benchmarks/mcp_tool.py
    python benchmarks/mcp_tool.py --rounds 9 --calls 400

Both sides call the tool `add` of one server each, written with the SDK and identical: over standard input
and output, and over streamable HTTP. Rounds alternate between the sides. The SDK is called as intended, from a
coroutine; ours as a trainer does, `ToolEnvWrapper.step` on a text with a call in it, parsing and bookkeeping included,
from a plain thread. The last part is 64 at a time on one session: 64 coroutines, and 64 environments in 64 threads.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import gem
from gem.tools import ToolEnvWrapper
from gem_tools import MCPTool

SERVER = """
import socket, sys
from mcp.server import MCPServer

server = MCPServer("toy")

@server.tool()
def add(a: int, b: int) -> int:
    return a + b

if sys.argv[1] == "stdio":
    server.run()
else:
    import uvicorn
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="critical")).run(sockets=[listener])
"""

ENVIRONMENTS = 64
PATIENT = 600.0
"""The time limit of a call in seconds, which a busy machine keeps."""
CALL = '<tool_call><tool_name>add</tool_name><arguments>{"a": 20, "b": 22}</arguments></tool_call>'


class Nothing(gem.Env[str, str]):
    """An environment in which only tools act."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        return "", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return "", 0.0, False, False, {}


@dataclass
class Round:
    """One side's measurement: seconds of each call, and the client's CPU seconds for all."""

    seconds: list[float]
    wall: float
    cpu: float

    @property
    def median_ms(self) -> float:
        return statistics.median(self.seconds) * 1000

    @property
    def rate(self) -> float:
        return len(self.seconds) / self.wall

    @property
    def cpu_ms(self) -> float:
        return self.cpu / len(self.seconds) * 1000


@dataclass
class Pair:
    """The rounds of both sides."""

    name: str
    ours: list[Round] = field(default_factory=list)
    theirs: list[Round] = field(default_factory=list)

    def row(self, what: str, value: Callable[[Round], float], *, more_is_better: bool = False) -> str:
        ours, theirs = [value(one) for one in self.ours], [value(one) for one in self.theirs]
        ratios = [b / a if more_is_better else a / b for a, b in zip(ours, theirs, strict=True)]
        return (
            f"| {self.name}, {what} | {statistics.median(ours):,.2f} | {statistics.median(theirs):,.2f} "
            f"| {statistics.median(ratios):.2f} ({min(ratios):.2f} … {max(ratios):.2f}) |"
        )


def measured(step: Callable[[], None], calls: int) -> Round:
    """Make ``calls`` calls, one after the other."""
    cpu, begin, seconds = time.process_time(), time.perf_counter(), []
    for _ in range(calls):
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    return Round(seconds, time.perf_counter() - begin, time.process_time() - cpu)


async def measured_async(client: Any, calls: int, at_once: int) -> Round:
    """Make ``calls`` calls in each of ``at_once`` coroutines."""
    seconds: list[float] = []

    async def work() -> None:
        for _ in range(calls):
            start = time.perf_counter()
            answer = await client.call_tool("add", {"a": 20, "b": 22})
            seconds.append(time.perf_counter() - start)
            assert answer.content[0].text == "42"

    cpu, begin = time.process_time(), time.perf_counter()
    await asyncio.gather(*(work() for _ in range(at_once)))
    return Round(seconds, time.perf_counter() - begin, time.process_time() - cpu)


def environment(tool: MCPTool) -> Callable[[], None]:
    """Return a function that makes one call in an environment of its own."""
    env = ToolEnvWrapper(Nothing(), [tool], max_tool_uses=None)
    env.reset(seed=0)

    def step() -> None:
        answer = env.step(CALL)[0]
        assert answer == "42", answer

    return step


@contextlib.contextmanager
def served() -> Iterator[str]:
    """Serve over HTTP, and yield the address."""
    command = [sys.executable, "-c", SERVER, "http"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp"
        finally:
            process.kill()


@contextlib.asynccontextmanager
async def their_client(server: Any) -> AsyncIterator[Any]:
    """Yield the SDK's client after a first call."""
    from mcp import Client

    async with Client(server) as client:
        await client.call_tool("add", {"a": 20, "b": 22})
        yield client


def compared(name: str, ours: MCPTool, theirs: Any, rounds: int, calls: int) -> list[str]:
    """Measure both sides in turn; every round of the SDK's runs in one session that stays open."""
    alone, together = Pair(name), Pair(f"{name}, {ENVIRONMENTS} at once")
    steps = [environment(ours) for _ in range(ENVIRONMENTS)]
    share = max(1, calls // 8)

    def all_at_once() -> Round:
        cpu, begin = time.process_time(), time.perf_counter()
        with ThreadPoolExecutor(ENVIRONMENTS) as threads:
            parts = list(threads.map(lambda step: measured(step, share), steps))
        wall = time.perf_counter() - begin
        return Round([one for part in parts for one in part.seconds], wall, time.process_time() - cpu)

    async def both() -> None:
        loop = asyncio.get_running_loop()
        async with their_client(theirs) as client:
            for number in range(rounds + 1):  # the first is for warming up
                round_of_ours = await loop.run_in_executor(None, measured, steps[0], calls)
                round_of_theirs = await measured_async(client, calls, 1)
                many_of_ours = await loop.run_in_executor(None, all_at_once)
                many_of_theirs = await measured_async(client, share, ENVIRONMENTS)
                if number:
                    alone.ours.append(round_of_ours)
                    alone.theirs.append(round_of_theirs)
                    together.ours.append(many_of_ours)
                    together.theirs.append(many_of_theirs)

    asyncio.run(both())
    return [
        alone.row("ms a call", lambda one: one.median_ms),
        alone.row("CPU ms of the client a call", lambda one: one.cpu_ms),
        together.row("calls a second", lambda one: one.rate, more_is_better=True),
        together.row("CPU ms of the client a call", lambda one: one.cpu_ms),
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=300, help="calls in a round of one side")
    arguments = parser.parse_args()

    from mcp import StdioServerParameters

    stdio = {"command": sys.executable, "args": ["-c", SERVER, "stdio"]}
    with MCPTool(stdio, execution_timeout=PATIENT) as ours:
        rows = compared("stdio", ours, StdioServerParameters(**stdio), arguments.rounds, arguments.calls)
    with served() as url, MCPTool(url, execution_timeout=PATIENT) as ours:
        rows += compared("HTTP", ours, url, arguments.rounds, arguments.calls)
    print(f"Median of {arguments.rounds} rounds of {arguments.calls} calls; a ratio below 1 is in our favour.\n")
    print("| | MCPTool | SDK | ratio (range) |")
    print("|---|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
