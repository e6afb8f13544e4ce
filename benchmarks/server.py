"""The environment server beside OpenEnv's: steps per CPU second of server and client together, and their latency.

Run with gem-core and gem-server installed, and OpenEnv in an environment of its own::

    python -m venv /tmp/openenv && /tmp/openenv/bin/pip install openenv
    python benchmarks/server.py paired --openenv /tmp/openenv/bin/python [--rounds 5] [--seconds 3]
    python benchmarks/server.py sessions [--count 10000]

``paired``: 64 sessions of an environment that echoes its action in a text of 300 characters, in a closed loop: each
session sends its next action when it has the result of the last one. The sides take turns. Every process of a side
counts: the server, its workers, the client. ``sessions``: opens sessions, plays a step in each and drops all of them,
twice, and shows the memory and descriptors of the server.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from gem.core import Env, Info

SESSIONS = 64
TEXT = "x" * 280


class Echo(Env[str, str]):
    """Echoes the action, and never ends."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.turn = 0
        return TEXT, {"turn": 0}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        self.turn += 1
        return f"{TEXT} {action}", 0.0, False, False, {"turn": self.turn}


OPENENV_SERVER = """
import sys, uvicorn
from openenv.core.env_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State

class EchoAction(Action):
    message: str

class EchoObservation(Observation):
    echoed: str = ""

TEXT = "x" * 280

class EchoEnvironment(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True
    def __init__(self):
        super().__init__()
        self._state = State(episode_id="0", step_count=0)
    def reset(self, seed=None, episode_id=None, **kwargs):
        return EchoObservation(echoed=TEXT, done=False, reward=0.0)
    def step(self, action, timeout_s=None, **kwargs):
        self._state.step_count += 1
        return EchoObservation(echoed=TEXT + " " + action.message, done=False, reward=0.0)
    @property
    def state(self):
        return self._state

app = create_fastapi_app(EchoEnvironment, EchoAction, EchoObservation, max_concurrent_envs=200)
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
"""

OPENENV_CLIENT = """
import asyncio, json, sys, time
from openenv.core.generic_client import GenericEnvClient

async def main(port, sessions, seconds):
    clients = [GenericEnvClient(base_url=f"http://127.0.0.1:{port}") for _ in range(sessions)]
    for client in clients:
        await client.connect()
        await client.reset()
    print("ready", flush=True)
    sys.stdin.readline()
    latencies = []
    until = time.perf_counter() + seconds
    async def play(client):
        while True:
            began = time.perf_counter()
            if began > until:
                return
            result = await client.step({"message": "hello"})
            latencies.append(time.perf_counter() - began)
    cpu = time.process_time()
    await asyncio.gather(*(play(client) for client in clients))
    print(json.dumps({"cpu": time.process_time() - cpu, "latencies": latencies}), flush=True)
    sys.stdin.readline()
    for client in clients:
        await client.close()

asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
"""


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process and its living children."""
    total = 0.0
    for each in [pid, *children(pid)]:
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def children(pid: int) -> list[int]:
    """Return the direct children of a process."""
    return [int(word) for path in Path(f"/proc/{pid}/task").glob("*/children") for word in path.read_text().split()]


def start_ours(*options: str) -> tuple[subprocess.Popen[str], str]:
    """Start a server of :class:`Echo`; return process and address."""
    code = (
        "import asyncio, json, sys; sys.path.insert(0, sys.argv[1]); from gem.env_spec import EnvSpec\n"
        "from gem_server import EnvironmentServer, ServingSettings\n"
        "async def main():\n"
        "    specs = {'bench:Echo-v0': EnvSpec('bench:Echo-v0', 'server:Echo')}\n"
        "    server = EnvironmentServer(specs, settings=ServingSettings(**json.loads(sys.argv[2])))\n"
        "    print(await server.start('127.0.0.1', 0), flush=True)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    folder = str(Path(__file__).parent)
    limits = json.dumps({"max_sessions": 20_000, "max_connections": 20_000, **dict(json.loads(o) for o in options)})
    process = subprocess.Popen([sys.executable, "-c", code, folder, limits], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, f"http://127.0.0.1:{process.stdout.readline().strip()}/bench:Echo-v0"


def play_ours(url: str, pid: int, connections: int, seconds: float) -> tuple[float, float, list[float]]:
    """Play in a closed loop; return steps, CPU seconds and latencies in seconds."""
    import numpy  # noqa: F401  # which results need; its import is no part of a step

    import gem

    with gem.make_vec(url, num_envs=SESSIONS, mode="server", mode_kwargs={"connections": connections}) as envs:
        envs.reset()
        sent = [0.0] * SESSIONS
        latencies: list[float] = []
        until = time.perf_counter() + seconds
        cpu = time.process_time() + cpu_of(pid)
        sent = [time.perf_counter()] * SESSIONS
        envs.send(["hello"] * SESSIONS)
        while envs.num_pending:
            ready = envs.recv(1)
            now = time.perf_counter()
            latencies.extend(now - sent[index] for index in ready.indices)
            if now < until:
                for index in ready.indices:
                    sent[index] = now
                envs.send(dict.fromkeys(ready.indices, "hello"))
        return len(latencies), time.process_time() + cpu_of(pid) - cpu, latencies


def play_openenv(python: str, port: int, pid: int, seconds: float) -> tuple[float, float, list[float]]:
    """Play in a closed loop with OpenEnv's own client; return steps, CPU seconds and latencies in seconds."""
    command = [python, "-c", OPENENV_CLIENT, str(port), str(SESSIONS), str(seconds)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        client.stdout.readline()
        cpu = cpu_of(pid)
        client.stdin.write("\n")
        client.stdin.flush()
        record = json.loads(client.stdout.readline())
        spent = cpu_of(pid) - cpu + record["cpu"]
        client.communicate("\n")
        return len(record["latencies"]), spent, record["latencies"]


def paired(python: str, rounds: int, seconds: float) -> None:
    """Compare both servers and print a table."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    theirs = subprocess.Popen([python, "-c", OPENENV_SERVER, str(port)])
    ours, url = start_ours()
    sides = {
        "openenv, own client": 0,
        "ours, one step a message": 64,
        "ours, batches of 16": 4,
        "ours, batches of 64": 1,
    }
    figures: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.2)
        for _ in range(rounds):
            for name, connections in sides.items():
                if connections:
                    steps, cpu, latencies = play_ours(url, ours.pid, connections, seconds)
                else:
                    steps, cpu, latencies = play_openenv(python, port, theirs.pid, seconds)
                p99 = sorted(latencies)[int(0.99 * len(latencies))] * 1000
                figures[name].append((cpu / steps * 1e6, p99))
                print(f"  {name}: {cpu / steps * 1e6:.1f} µs a step, p99 {p99:.1f} ms", file=sys.stderr)
    finally:
        for process in (ours, theirs):
            process.kill()
            process.wait()
    base = [each for each, _ in figures["openenv, own client"]]
    print("| | CPU µs a step | steps per CPU s | × OpenEnv | p99, ms |\n|---|---|---|---|---|")
    for name, rows in figures.items():
        costs = [cost for cost, _ in rows]
        ratios = [b / cost for b, cost in zip(base, costs, strict=True)]
        cost, late = statistics.median(costs), statistics.median(p for _, p in rows)
        print(
            f"| {name} | {cost:.1f} ({min(costs):.1f} … {max(costs):.1f}) | {1e6 / cost:,.0f} | "
            f"{statistics.median(ratios):.1f} ({min(ratios):.1f} … {max(ratios):.1f}) | "
            f"{late:.1f} ({min(p for _, p in rows):.1f} … {max(p for _, p in rows):.1f}) |"
        )


def sessions(count: int) -> None:
    """Open, use and drop many sessions twice, and print what the server holds."""
    import numpy  # noqa: F401  # which results need; its import is no part of a step

    import gem

    ours, url = start_ours('["reconnect_timeout", 0.5]')
    try:
        print("| | sessions | RSS MB, server and workers | descriptors |\n|---|---|---|---|")
        print(f"| start | 0 | {resident(ours.pid):.0f} | {descriptors(ours.pid)} |")
        for cycle in ("first", "second"):
            per_connection = 100
            with gem.make_vec(
                url, num_envs=count, mode="server", mode_kwargs={"connections": count // per_connection}
            ) as envs:
                envs.reset()
                envs.step(["hello"] * count)
                print(f"| {cycle} cycle, open | {count} | {resident(ours.pid):.0f} | {descriptors(ours.pid)} |")
            time.sleep(2)
            print(f"| {cycle} cycle, dropped | 0 | {resident(ours.pid):.0f} | {descriptors(ours.pid)} |")
    finally:
        ours.kill()
        ours.wait()


def resident(pid: int) -> float:
    """Return the resident memory of a process and its children in megabytes."""
    pages = sum(int(Path(f"/proc/{each}/statm").read_text().split()[1]) for each in [pid, *children(pid)])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def descriptors(pid: int) -> int:
    """Return the number of open descriptors of a process."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    pair = commands.add_parser("paired")
    pair.add_argument("--openenv", required=True)
    pair.add_argument("--rounds", type=int, default=5)
    pair.add_argument("--seconds", type=float, default=3.0)
    many = commands.add_parser("sessions")
    many.add_argument("--count", type=int, default=10_000)
    arguments = parser.parse_args()
    if arguments.command == "paired":
        paired(arguments.openenv, arguments.rounds, arguments.seconds)
    else:
        sessions(arguments.count)


if __name__ == "__main__":
    main()
