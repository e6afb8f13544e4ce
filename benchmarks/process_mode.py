"""Process mode against sync mode and against Gymnasium's AsyncVectorEnv: CPU microseconds a step, paired in one run.

    python benchmarks/process_mode.py bounds      # the table of step costs and games
    python benchmarks/process_mode.py gymnasium   # a process for each environment, around the same environment
    python benchmarks/process_mode.py start 4096  # start-up and memory of many environments
    python benchmarks/process_mode.py sizes       # packets against shared memory

CPU is counted for all threads of the trainer and for every worker, since other work on the machine distorts any wall
clock. ``bound`` is ``processors * sync / (trainer + workers)``: the speed-up that so many free processors can reach.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import resource
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gem
from gem.vector import VectorEnv

PROCESSORS = 2
ROUNDS = 31  # of about 50 ms in each mode, so that a burst of other work meets both
MOVES: dict[str, Callable[[random.Random], str]] = {
    "game:Game2048-v0": lambda rng: f"\\boxed{{{rng.choice(('up', 'down', 'left', 'right'))}}}",
    "game:Minesweeper-v0": lambda rng: f"\\boxed{{reveal {rng.randrange(8)} {rng.randrange(8)}}}",
    "game:Sokoban-v0": lambda rng: f"\\boxed{{{rng.choice(('up', 'down', 'left', 'right'))}}}",
    "game:GuessTheNumber-v0": lambda rng: f"\\boxed{{{rng.randint(1, 50)}}}",
}


class Busy(gem.Env[str, str]):
    """Computes for about so many microseconds, and shows a text of a given length.

    Args:
        loops: rounds of a loop in each step, 20 to 60 in a microsecond.
        size: characters of the observation.
        reset_loops: rounds of a loop in each reset.
    """

    def __init__(self, loops: int = 0, size: int = 200, reset_loops: int = 0) -> None:
        self.loops = loops
        self.size = size
        self.reset_loops = reset_loops

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        for _ in range(self.reset_loops):
            pass
        self.turn = 0
        return "x" * self.size, {"turn": 0}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        for _ in range(self.loops):
            pass
        self.turn += 1
        return f"{self.turn} {action}" + "x" * self.size, 0.5, self.turn >= 100, False, {"turn": self.turn}

    def sample_random_action(self) -> str:
        return "go"


class Sleeps(Busy):
    """Waits for so many seconds in each step.

    Args:
        seconds: of a step.
    """

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__()
        self.seconds = seconds

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        time.sleep(self.seconds)
        return super().step(action)


def loops_of(microseconds: float) -> int:
    """Return the rounds of a loop that compute for so long; the fastest of several tries, as other work disturbs."""
    return round(microseconds * 1e-6 / min(_seconds_of_loops(10_000) for _ in range(20)) * 10_000)


def _seconds_of_loops(count: int) -> float:
    begin = time.process_time()
    for _ in range(count):
        pass
    return time.process_time() - begin


def cpu_of(processes: Sequence[int]) -> float:
    """Return the CPU seconds that processes have used so far."""
    return sum(int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) for process in processes) / 1e9


def measure(envs: VectorEnv, actions: Sequence[Sequence[Any]], steps: int) -> tuple[float, float, float]:
    """Return CPU microseconds a step of this process and of the workers, and wall-clock microseconds."""
    workers = getattr(envs, "worker_pids", [])
    begin = time.process_time(), cpu_of(workers), time.perf_counter()
    for turn in range(steps):
        envs.step(actions[turn % len(actions)])
    end = time.process_time(), cpu_of(workers), time.perf_counter()
    return tuple(1e6 * (after - before) / steps / envs.num_envs for before, after in zip(begin, end, strict=True))  # type: ignore[return-value]


def bound_row(name: str, env: Any, num_envs: int, move: Callable[[random.Random], str], **kwargs: Any) -> None:
    """Print the row of one environment: both modes take turns; medians of the rounds, and quartiles of the bound."""
    rng = random.Random(0)
    actions = [[move(rng) for _ in range(num_envs)] for _ in range(16)]
    make = {
        mode: gem.make_vec(env, num_envs=num_envs, mode=mode, seed=1, mode_kwargs=own, **kwargs)
        for mode, own in (("sync", {}), ("process", {"num_workers": PROCESSORS}))
    }
    rows: dict[str, list[tuple[float, float, float]]] = {"sync": [], "process": []}
    try:
        for envs in make.values():
            envs.reset()
            measure(envs, actions, 16)
        steps = max(4, int(0.05e6 / measure(make["sync"], actions, 8)[0] / num_envs))
        for _ in range(ROUNDS):
            for mode, envs in make.items():
                rows[mode].append(measure(envs, actions, steps))
    finally:
        for envs in make.values():
            envs.close()
    bounds = statistics.quantiles(
        PROCESSORS * sync[0] / (process[0] + process[1])
        for sync, process in zip(rows["sync"], rows["process"], strict=True)
    )
    sync, trainer, workers = (
        statistics.median(column)
        for column in (
            [row[0] for row in rows["sync"]],
            [row[0] for row in rows["process"]],
            [row[1] for row in rows["process"]],
        )
    )
    wall = statistics.median(s[2] / p[2] for s, p in zip(rows["sync"], rows["process"], strict=True))
    print(
        f"| {name} | {num_envs} | {sync:.1f} | {trainer:.1f} | {workers:.1f} | {bounds[1]:.2f} "
        f"({bounds[0]:.2f} … {bounds[2]:.2f}) | {wall:.2f} |",
        flush=True,
    )


def bounds() -> None:
    """Print the table of step costs and games."""
    gem.register("bench:Busy", Busy, replace=True)
    print("| environment | environments | sync | trainer | workers | bound | wall, this machine |")
    print("|---|---|---|---|---|---|---|")
    for microseconds, size in ((0, 200), (20, 200), (50, 200), (50, 2000), (100, 200), (100, 2000), (50, 20_000)):
        kwargs = {"loops": loops_of(microseconds), "size": size}
        bound_row(f"{microseconds} µs, {size} characters", "bench:Busy", 64, lambda rng: "go", **kwargs)
    for env_id, count in (
        ("game:GuessTheNumber-v0", 64),
        ("game:Game2048-v0", 64),
        ("game:Minesweeper-v0", 64),
        ("game:Sokoban-v0", 64),
        ("game:Game2048-v0", 512),
        ("game:Minesweeper-v0", 512),
    ):
        bound_row(env_id, env_id, count, MOVES[env_id])


class GymnasiumWalk:
    """Makes the game as a Gymnasium environment with text spaces, as its AsyncVectorEnv needs them."""

    def __init__(self, env_id: str) -> None:
        self.env_id = env_id

    def __call__(self) -> Any:
        import gymnasium

        env_id = self.env_id

        class Adapter(gymnasium.Env[str, str]):
            action_space = gymnasium.spaces.Text(200)
            observation_space = gymnasium.spaces.Text(4000)

            def __init__(self) -> None:
                self.env = gem.make(env_id)

            def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
                return self.env.reset(seed=seed)

            def step(self, action: str) -> Any:
                return self.env.step(action)

        return Adapter()


def against_gymnasium(num_envs: int) -> None:
    """Print steps a CPU second of process mode and of AsyncVectorEnv around the same game, all processes counted."""
    from gymnasium.vector import AsyncVectorEnv

    print("| game | process mode, µs | AsyncVectorEnv, µs | ratio |")
    print("|---|---|---|---|")
    for env_id in ("game:Game2048-v0", "game:GuessTheNumber-v0", "game:Sokoban-v0"):
        rng = random.Random(0)
        actions = [[MOVES[env_id](rng) for _ in range(num_envs)] for _ in range(16)]
        ours = gem.make_vec(env_id, num_envs=num_envs, mode="process", seed=1)
        theirs = AsyncVectorEnv([GymnasiumWalk(env_id)] * num_envs, shared_memory=False)
        workers = [process.pid for process in theirs.processes if process.pid is not None]
        ours.reset()
        theirs.reset(seed=1)
        pairs = []
        for _ in range(5):
            one = measure(ours, actions, 60)
            begin = time.process_time() + cpu_of(workers)
            for turn in range(20):
                theirs.step(tuple(actions[turn % 16]))
            other = 1e6 * (time.process_time() + cpu_of(workers) - begin) / 20 / num_envs
            pairs.append((one[0] + one[1], other))
        ours.close()
        theirs.close()
        ratios = sorted(other / one for one, other in pairs)
        print(
            f"| {env_id} | {statistics.median(one for one, _ in pairs):.1f} | "
            f"{statistics.median(other for _, other in pairs):.1f} | "
            f"{statistics.median(ratios):.1f} ({ratios[0]:.1f} … {ratios[-1]:.1f}) |",
            flush=True,
        )


def memory_of(process: int) -> tuple[float, float]:
    """Return the proportional and the private memory of a process in MB."""
    rows = dict(line.split(":", 1) for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:])
    number = {name: int(value.split()[0]) / 1024 for name, value in rows.items()}
    return number["Pss"], number["Private_Dirty"] + number["Private_Clean"]


def start(num_envs: int) -> None:
    """Print the start-up and the memory of many environments, after their first step."""
    gem.register("bench:Sleeps", Sleeps, replace=True)
    columns = ("environment", "mode", "make, CPU s", "first reset", "first step", "µs an environment", "memory, MB")
    print(f"| {' | '.join(columns)} | kB an environment | threads | processes |\n|{'---|' * 10}")
    for env_id, kwargs in (("game:Game2048-v0", {}), ("game:Sokoban-v0", {}), ("bench:Sleeps", {"seconds": 0.1})):
        for mode in ("sync", "thread", "process"):
            if mode == "thread" or not kwargs:  # what waits belongs into threads
                print(start_row(env_id, mode, num_envs, kwargs), flush=True)
    print(f"peak of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def start_row(env_id: str, mode: str, num_envs: int, kwargs: dict[str, Any]) -> str:
    """Return the row of one environment and mode."""
    with gem.make_vec(env_id, num_envs=2, mode=mode, seed=1, **kwargs) as first:  # imports and tables come once
        first.reset()
        action = first.envs[0].sample_random_action()
        first.step([action] * 2)
    gc.collect()
    before, began = memory_of(os.getpid())[0], time.process_time()
    with gem.make_vec(env_id, num_envs=num_envs, mode=mode, seed=1, **kwargs) as envs:
        workers = getattr(envs, "worker_pids", [])
        marks = [time.process_time() - began + cpu_of(workers)]
        for play in (envs.reset, lambda: envs.step([action] * num_envs)):
            play()
            marks.append(time.process_time() - began + cpu_of(workers))
        memory = memory_of(os.getpid())[0] - before + sum(memory_of(process)[0] for process in workers)
        threads = threading.active_count()
    spent = " | ".join(f"{now - then:.2f}" for then, now in zip([0.0, *marks], marks, strict=False))
    return (
        f"| {env_id} | {mode} | {spent} | {1e6 * marks[-1] / num_envs:.0f} | {memory:.0f} | "
        f"{1024 * memory / num_envs:.1f} | {threads} | {1 + len(workers)} |"
    )


def sizes() -> None:
    """Print what a message costs by the way that it takes, sender and reader together."""
    print("| bytes | packet, µs | shared memory, µs |")
    print("|---|---|---|")
    for size in (1000, 10_000, 50_000, 98_000, 640_000):
        packet = f"{one_way(b'x' * size, 300, 98_304):.0f}" if size <= 98_304 else "-"
        print(f"| {size} | {packet} | {one_way(b'x' * size, 300, 0):.0f} |", flush=True)


def one_way(data: bytes, count: int, largest: int) -> float:
    """Return CPU microseconds of a message and its receipt, copied once as unpacking does."""
    from gem_processes.process_mode.packets import PacketChannel, packet_sockets

    ours, theirs = (PacketChannel(end, blocking=True, largest=largest) for end in packet_sockets())
    begin = time.process_time()
    for _ in range(count):
        ours.send(data)
        theirs.receive(bytes)
    return 1e6 * (time.process_time() - begin) / count


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=("bounds", "gymnasium", "start", "sizes"))
    parser.add_argument("number", nargs="?", type=int, help="of environments, for gymnasium and start")
    chosen = parser.parse_args()
    if chosen.what == "bounds":
        bounds()
    elif chosen.what == "gymnasium":
        against_gymnasium(chosen.number or 64)
    elif chosen.what == "start":
        start(chosen.number or 4096)
    else:
        sizes()
