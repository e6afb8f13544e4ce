"""The time until an episode with a PostgreSQL database of its own has begun, and of a batch that begins at once.

Run with ``gem-envs-desk[postgres]`` and PostgreSQL installed; the number of episodes is optional. The second line is
without the waits for a processor, which other work of the machine causes, of the thread that begins the episode and of
its server process, as the kernel counts them::

    python benchmarks/postgres_episodes.py 100
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import psycopg

import gem
from gem_envs_desk.mcp.database_env import DatabaseEnv
from gem_tools.postgres.databases import count_databases
from gem_tools.postgres.location import ADMIN, cluster_folder, read_address

BATCH = 32


def waited_ms(path: str) -> float:
    """Return milliseconds that a thread or process has waited for a processor since it began."""
    return int(Path("/proc", path, "schedstat").read_text().split()[1]) / 1e6


def begun(env: DatabaseEnv, seed: int) -> tuple[float, float]:
    """Return milliseconds of a reset with a new task and the filling of its database: wall, and without waits."""
    thread = f"self/task/{threading.get_native_id()}"
    waits = -waited_ms(thread)
    start = time.perf_counter()
    env.reset(seed=seed)
    workspace = env.workspace
    wall = (time.perf_counter() - start) * 1000
    waits += waited_ms(thread)
    server = workspace.run("SELECT pg_backend_pid()", read_only=True).split()[-1]
    return wall, wall - waits - waited_ms(server)


def until_ready(admin: psycopg.Connection[Any], number: int) -> None:
    """Return when so many databases wait for an episode."""
    while count_databases(admin).ready < number:
        time.sleep(0.01)


def row(name: str, times: Sequence[float]) -> str:
    """Return a line of the table: median, deciles, maximum."""
    tenths = quantiles(times, n=10)
    return f"| {name} | {median(times):.0f} | {tenths[0]:.0f} | {tenths[-1]:.0f} | {max(times):.0f} |"


def one_after_another(admin: psycopg.Connection[Any], episodes: int) -> tuple[list[float], list[float]]:
    """Return the times of episodes that each find a ready database."""
    found = []
    with gem.make("mcp:Postgres-v0") as env:
        inner = env.unwrapped
        assert isinstance(inner, DatabaseEnv)
        for seed in range(episodes):
            until_ready(admin, 4)
            found.append(begun(inner, 10**6 + seed))
    return [wall for wall, _ in found], [alone for _, alone in found]


def batch(envs: Sequence[DatabaseEnv], seed: int) -> float:
    """Return milliseconds until all have begun."""
    start = time.perf_counter()
    with ThreadPoolExecutor(len(envs)) as pool:
        begin: Callable[[int], object] = lambda place: begun(envs[place], seed + place)  # noqa: E731
        list(pool.map(begin, range(len(envs))))
    return (time.perf_counter() - start) * 1000


def main() -> None:
    """Print the tables."""
    episodes = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with DatabaseEnv() as first:
        first.reset(seed=0)
        start = time.perf_counter()
        _ = first.workspace  # starts the server
        print(f"first use, which starts the server: {time.perf_counter() - start:.1f} s")
    address = read_address(cluster_folder())
    assert address is not None
    with psycopg.connect(
        host=address.sockets, port=address.port, user=ADMIN, dbname="postgres", autocommit=True
    ) as admin:
        wall, alone = one_after_another(admin, episodes)
        print(row("wall", wall), row("wall without waits", alone), sep="\n", flush=True)
        envs = [DatabaseEnv() for _ in range(BATCH)]
        times = [batch(envs, 0)]
        for number in range(1, 4):
            until_ready(admin, BATCH)
            times.append(batch(envs, BATCH * number))
        print(f"{BATCH} at once: first {times[0]:.0f} ms, then {', '.join(f'{one:.0f}' for one in times[1:])} ms")
        for env in envs:
            env.close()


if __name__ == "__main__":
    main()
