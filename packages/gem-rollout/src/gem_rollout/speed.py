"""The speed of an environment, on its own and relative to a calibration loop.

Rates are per CPU second of one core, so that other work on the machine hardly matters. The machine itself still
matters: the calibration loop, the same everywhere, runs in turns with the environment, and the ratio of the two rates
can be compared between machines.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from gem.core import Env
from gem.env_spec import EnvSpec
from gem.errors import NotSupportedError
from gem.registry import make
from gem.vector import VectorEnv, make_vec

__all__ = ["CALIBRATION", "Speed", "VectorSpeed", "calibration_round", "measure", "measure_modes"]

CALIBRATION = 1
"""The version of :func:`calibration_round`; relative rates of different versions cannot be compared."""

_AT_ONCE = 20
"""Number of actions sampled ahead; more would be wasted at the end of a short episode."""
_ROUNDS = 25
"""Turns of each vectorization mode."""
_PATIENCE = 10.0
"""Wall-clock seconds allowed for each requested CPU second: an environment that mostly waits uses no CPU."""


@dataclass(frozen=True)
class Speed:
    """Rates are per CPU second of one core, under random actions; sampling the actions does not count."""

    id: str
    steps_per_cpu_second: float
    resets_per_cpu_second: float
    make_cpu_seconds: float
    slowest_reset_cpu_seconds: float
    calibration: int
    """The version of the calibration loop."""
    calibration_rounds_per_cpu_second: float
    relative_steps: float
    """Steps for each calibration round in the same CPU time."""
    relative_resets: float


@dataclass(frozen=True)
class VectorSpeed:
    """The speed of a vector environment in each mode, under random actions, and what ``mode="auto"`` chooses."""

    id: str
    num_envs: int
    steps_per_second: dict[str, float]
    """By mode: steps of one environment for each second of wall-clock time, the median of some rounds in turns."""
    chosen: str
    """The mode that ``"auto"`` chooses."""
    reason: str


class _Clock:
    """Adds up the CPU seconds of one kind of work."""

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0
        self.slowest = 0.0

    def run(self, work: Callable[[], int]) -> None:
        begin = time.process_time()
        count = work()
        spent = time.process_time() - begin
        self.count, self.seconds, self.slowest = self.count + count, self.seconds + spent, max(self.slowest, spent)

    @property
    def rate(self) -> float:
        # A coarse clock (Windows: 16 ms) may not have ticked.
        return self.count / max(self.seconds, 1e-6)


def measure(spec: EnvSpec, seconds: float, seed: int) -> Speed:
    """Return an environment's speed.

    Each figure covers ``seconds`` CPU seconds, or fewer where an environment mostly waits.
    The calibration loop runs for the same time, in turns of milliseconds.
    """
    make(spec).close()  # imports and tables are paid for once per process, so they are not counted
    begin = time.process_time()
    env = make(spec)
    make_seconds = time.process_time() - begin
    env.reset(seed=seed)
    resets, beside_resets = _in_turns(lambda: [_reset_once(env)], seconds)
    steps, beside_steps = _in_turns(_steps_of(env), seconds)
    env.close()
    return Speed(
        id=spec.id,
        steps_per_cpu_second=steps.rate,
        resets_per_cpu_second=resets.rate,
        make_cpu_seconds=make_seconds,
        slowest_reset_cpu_seconds=resets.slowest,
        calibration=CALIBRATION,
        calibration_rounds_per_cpu_second=beside_steps.rate,
        relative_steps=steps.rate / beside_steps.rate,
        relative_resets=resets.rate / beside_resets.rate,
    )


def measure_modes(spec: EnvSpec, num_envs: int, seconds: float, seed: int) -> VectorSpeed:
    """Return the speed of a vector environment in each mode of gem-core, and in the mode that ``"auto"`` chooses.

    Each mode plays the same actions in lock-step, in turns with the others, for ``seconds`` in all. A mode that the
    system does not have is left out.
    """
    batch = _sampled(spec, num_envs, seed)
    rates: dict[str, list[float]] = {}
    with ExitStack() as stack:
        modes: dict[str, VectorEnv] = {}
        for mode in ("sync", "thread", "process", "auto"):
            try:
                modes[mode] = stack.enter_context(make_vec(spec, num_envs=num_envs, mode=mode, seed=seed))
            except NotSupportedError:
                continue
            modes[mode].reset()
            modes[mode].step(batch)  # imports, threads and tables are not counted
        for _ in range(_ROUNDS):
            for mode, envs in modes.items():
                begin, count = time.perf_counter(), 0
                while not count or time.perf_counter() - begin < seconds / _ROUNDS:
                    envs.step(batch)
                    count += num_envs
                rates.setdefault(mode, []).append(count / (time.perf_counter() - begin))
        made = modes["auto"].mode_choice
    assert made is not None
    medians = {mode: statistics.median(values) for mode, values in rates.items()}
    return VectorSpeed(spec.id, num_envs, medians, made.mode, made.reason)


def _sampled(spec: EnvSpec, count: int, seed: int) -> list[Any]:
    """Return random actions."""
    env = make(spec)
    env.reset(seed=seed)
    try:
        return [env.sample_random_action() for _ in range(count)]
    finally:
        env.close()


def _in_turns(next_work: Callable[[], list[Callable[[], int]]], seconds: float) -> tuple[_Clock, _Clock]:
    """Run work and the calibration loop in turns until each has had ``seconds``; return the clocks of both.

    Args:
        next_work: prepares the next work outside the measured time; each piece of work returns a count.
        seconds: CPU seconds of each.
    """
    measured, calibration = _Clock(), _Clock()
    deadline = time.monotonic() + _PATIENCE * seconds
    while not measured.count or (measured.seconds < seconds and time.monotonic() < deadline):
        for work in next_work():
            measured.run(work)
        while not calibration.count or calibration.seconds < measured.seconds:
            calibration.run(_hundred_rounds)
    return measured, calibration


def _reset_once(env: Env[Any, Any]) -> Callable[[], int]:
    def work() -> int:
        env.reset()
        return 1

    return work


def _steps_of(env: Env[Any, Any]) -> Callable[[], list[Callable[[], int]]]:
    # Among several agents the next one is known only at its turn, so actions are sampled one by one.
    several = hasattr(env.unwrapped, "active_agents")
    ended = True

    def prepare() -> list[Callable[[], int]]:
        nonlocal ended
        if ended:
            env.reset()
        actions = [env.sample_random_action() for _ in range(1 if several else _AT_ONCE)]
        return [lambda: play(actions)]

    def play(actions: list[Any]) -> int:
        nonlocal ended
        for count, action in enumerate(actions, start=1):
            _, _, terminated, truncated, _ = env.step(action)
            ended = not env.unwrapped.agents if several else terminated or truncated  # type: ignore[attr-defined]
            if ended:
                return count
        return len(actions)

    return prepare


_BOXED = re.compile(r"\\boxed\{\s*(\d+)\s+(\d+)\s*\}")
_REPLY = "I think that the best cell is the one next to the border, so I choose \\boxed{%d %d} for this turn."


def calibration_round(turn: int) -> str:
    r"""Do what a typical step does: parse a reply, change a small state, write the board.

    A fixed workload, which changes only with :data:`CALIBRATION`: one search for ``\\boxed{row col}`` in a reply
    of 100 characters, a dict of 36 cells, a board of six lines and a sentence. A round takes about 10 µs.

    Args:
        turn: any non-negative int; it determines the cell.
    """
    found = _BOXED.search(_REPLY % (turn % 6, turn // 6 % 6))
    assert found is not None
    row, column = int(found[1]), int(found[2])
    board = {(i, j): "." for i in range(6) for j in range(6)}
    board[row, column] = "x"
    lines = (" ".join(board[i, j] for j in range(6)) for i in range(6))
    return f"Turn {turn}: row {row}, column {column} is now {board[row, column]!r}.\n" + "\n".join(lines)


def _hundred_rounds() -> int:
    for turn in range(100):
        calibration_round(turn)
    return 100
