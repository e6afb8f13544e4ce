"""Ray mode against sync mode in one run: CPU and messages of a batch, memory and connections of an actor.

    python benchmarks/ray_mode.py [--actors 2] [--envs 64] [--steps 200]

It starts a Ray cluster of its own on this machine. CPU seconds are those of the driver and, separately, of the actors'
processes, user and system; Ray's own daemons come on top, and are given for all of a run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import runpy
import secrets
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32), RAY_USAGE_STATS_ENABLED="0")

import ray

import gem
from gem.vector import VectorEnv
from gem_processes.process_mode.packing import pack

GAMES = {
    "game:GuessTheNumber-v0-easy": "\\boxed{5}",
    "game:Minesweeper-v0-easy": "\\boxed{reveal 1 1}",
    "game:Sokoban-v0-easy": "\\boxed{up}",
}
HEAD = [
    *("", "sync, µs a step", "driver, µs a step", "actors, µs a step"),
    *("driver, µs a call", "driver, calls a CPU s", "actor, MB PSS"),
]
TICKS = os.sysconf("SC_CLK_TCK")
NODES = runpy.run_path(str(Path(__file__).parents[1] / "packages/gem-ray/tests/conftest.py"))
"""How the tests start a node, also on a busy machine."""


def processes(name: str) -> list[int]:
    """Return the processes below this one whose command line begins with a name, or whose program has it."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    own = [os.getpid()]
    for parent in own:
        own += [pid for pid, above in parents.items() if above == parent]
    return [pid for pid in own if named(pid, name)]


def named(pid: int, name: str) -> bool:
    """Return whether a process has a name."""
    command = Path(f"/proc/{pid}/cmdline").read_bytes().partition(b"\0")[0].decode()
    return command.startswith(name) or command.endswith(f"/{name}")


def cpu_seconds(pids: Sequence[int]) -> float:
    """Return the CPU seconds that processes have taken so far."""
    total = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def pss_megabytes(pid: int) -> float:
    """Return the proportional set size of a process."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1000
    raise ValueError(f"no Pss of {pid}")


def connections(pid: int) -> int:
    """Return the number of established TCP connections of a process."""
    own = {str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir() if fd.is_symlink()}
    rows = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]
    ]
    return sum(row[3] == "01" and f"socket:[{row[9]}]" in own for row in rows)


def timed(envs: VectorEnv, action: str, steps: int, pids: Sequence[int] = (), repeats: int = 5) -> tuple[float, float]:
    """Play steps, and return the medians of the driver's and the other processes' CPU seconds."""
    actions, seen = [action] * envs.num_envs, []
    for _ in range(repeats):
        driver, others = time.process_time(), cpu_seconds(pids)
        for _ in range(steps):
            envs.step(actions)
        seen.append((time.process_time() - driver, cpu_seconds(pids) - others))
    return statistics.median(one for one, _ in seen), statistics.median(other for _, other in seen)


def measure(actors: int, envs_per_actor: int, steps: int) -> list[list[str]]:
    """Print one line of JSON for each measurement, and return the rows of the table."""
    rows = []
    num_envs = actors * envs_per_actor
    for game, action in GAMES.items():
        with gem.make_vec(game, num_envs=num_envs, mode="sync", seed=0) as envs:
            envs.reset()
            sync, _ = timed(envs, action, steps)
        with gem.make_vec(
            game, num_envs=num_envs, mode="ray", seed=0, mode_kwargs={"envs_per_actor": envs_per_actor}
        ) as envs:
            envs.reset()
            results = list(zip(*envs.step([action] * num_envs), strict=True))
            pids = processes("ray::EnvironmentActor")
            assert len(pids) == actors, pids
            driver, workers = timed(envs, action, steps, pids)
            calls, plays = actors * steps, num_envs * steps
            pss = statistics.mean(map(pss_megabytes, pids))
            per_step = [f"{1e6 * seconds / plays:.1f}" for seconds in (sync, driver, workers)]
            per_call = [f"{1e6 * driver / calls:,.0f}", f"{calls / driver:,.0f}"]
            rows.append([game, *per_step, *per_call, f"{pss:.1f}"])
            print(
                json.dumps(
                    {
                        "game": game,
                        "actor_us_per_call_beyond_steps": round(1e6 * (workers - sync) / calls),
                        "kB_sent_per_call": round(len(pack([action] * envs_per_actor)) / 1000, 2),
                        "kB_received_per_call": round(len(pack(results[:envs_per_actor])) / 1000, 2),
                        "actor_connections": connections(pids[0]),
                        "driver_connections": connections(os.getpid()),
                    }
                ),
                flush=True,
            )
    return rows


def memory() -> None:
    """Print the memory of one actor by the number of its environments."""
    for num_envs in (1, 64, 1024):
        with gem.make_vec(
            "game:Sokoban-v0-easy", num_envs=num_envs, mode="ray", seed=0, mode_kwargs={"envs_per_actor": 1024}
        ) as envs:
            envs.reset()
            (pid,) = processes("ray::EnvironmentActor")
            print(json.dumps({"envs_in_actor": num_envs, "pss_MB": round(pss_megabytes(pid), 1)}), flush=True)


def start_head(cpus: int) -> subprocess.Popen[str]:
    """Start a cluster of one node and connect to it."""
    os.environ.update(NODES["NODE_SETTINGS"])
    options = [
        "--head",
        "--port=0",
        f"--num-cpus={cpus}",
        "--include-dashboard=false",
        "--disable-usage-stats",
        "--block",
    ]
    command = [sys.executable, "-c", NODES["RAY_START"], "start", *options]
    head = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert head.stdout is not None
    address = ""
    for line in head.stdout:
        if found := re.search(r"--address='([\d.:]+)'", line):
            address = found[1]
        if "--block" in line:
            break
    if not address:
        raise SystemExit("Ray could not start a node; its logs are below /tmp/ray")
    ray.init(address, log_to_driver=False)
    return head


def main() -> None:
    """Run all measurements in a cluster of their own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--actors", type=int, default=2)
    parser.add_argument("--envs", type=int, default=64)
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    begin = time.perf_counter()
    head = start_head(options.actors)
    daemons = [pid for name in ("gcs_server", "raylet") for pid in processes(name)]
    print(json.dumps({"ray": ray.__version__, "start_seconds": round(time.perf_counter() - begin, 1)}))
    try:
        before = cpu_seconds(daemons)
        rows = measure(options.actors, options.envs, options.steps)
        print(json.dumps({"daemons_cpu_seconds_in_all": round(cpu_seconds(daemons) - before, 2)}))
        print(json.dumps({"daemons_pss_MB": round(sum(map(pss_megabytes, daemons)), 1)}))
        memory()
        for row in (HEAD, ["---"] * len(HEAD), *rows):
            print(f"| {' | '.join(row)} |")
    finally:
        ray.shutdown()
        for pid in processes(""):
            if pid != os.getpid():
                os.kill(pid, signal.SIGTERM)
        head.wait()


if __name__ == "__main__":
    main()
