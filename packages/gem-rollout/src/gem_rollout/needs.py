"""What many of an environment need: memory, CPU to begin, CPU of a step; measured in a process of its own.

``python -m gem_rollout.needs`` is that process: it takes a spec as JSON, and answers with measurements as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

from gem.env_spec import EnvSpec
from gem.errors import GemError
from gem.registry import make

__all__ = ["ExpectedNeeds", "MeasuredNeeds", "NeedsError", "measure_needs", "needs_of"]

_MOST = 1024
_ENOUGH_BYTES = 64 << 20
_ENOUGH_SECONDS = 4.0
"""Environments are added until there are ``_MOST`` of them, or they take that much memory or CPU."""
_WARM = 16
"""The first environments pay for imports, tables and the allocator's arenas: what comes after them counts."""
_STEPS = 3
"""Steps of each, so that its state is that of an episode and not of a beginning."""
_DEADLINE = 120.0  # seconds


class NeedsError(GemError, RuntimeError):
    """The process that measures could not do so."""


@dataclass(frozen=True)
class MeasuredNeeds:
    """What was measured over ``count`` environments after the first :data:`_WARM`."""

    id: str
    count: int
    base_bytes: int
    """Resident memory of the process with the first environments."""
    bytes_each: float
    start_cpu_seconds_each: float
    """CPU seconds of making and resetting one."""
    step_cpu_seconds_each: float
    """CPU seconds of a step of one under random actions, sampling them left out."""


@dataclass(frozen=True)
class ExpectedNeeds:
    """What ``num_envs`` of an environment need in one process on one core."""

    num_envs: int
    memory_bytes: float
    start_cpu_seconds: float
    steps_per_cpu_second: float
    """Of single environments."""
    round_cpu_seconds: float
    """CPU seconds in which each of them makes a step."""
    measured_over: int


def needs_of(measured: MeasuredNeeds, num_envs: int) -> ExpectedNeeds:
    """Return what ``num_envs`` of an environment need; beyond those measured, in proportion."""
    return ExpectedNeeds(
        num_envs,
        measured.base_bytes + measured.bytes_each * num_envs,
        measured.start_cpu_seconds_each * num_envs,
        1 / measured.step_cpu_seconds_each,
        measured.step_cpu_seconds_each * num_envs,
        measured.count,
    )


def measure_needs(spec: EnvSpec, seed: int = 0) -> MeasuredNeeds:
    """Measure in a process of its own, whose memory nothing else has touched.

    Raises:
        NeedsError: if the environment cannot be played there, or not within two minutes.
    """
    command = [sys.executable, "-m", "gem_rollout.needs", str(seed)]
    asked = json.dumps(spec.to_dict())
    try:
        done = subprocess.run(  # noqa: S603  # this module, in this Python
            command, input=asked, capture_output=True, text=True, timeout=_DEADLINE, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise NeedsError(f"{spec.id}: the measurement of its needs took more than {_DEADLINE:g} s") from error
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise NeedsError(f"{spec.id}: its needs cannot be measured: {reason[0]}")
    return MeasuredNeeds(**json.loads(done.stdout.splitlines()[-1]))


def _measure(spec: EnvSpec, seed: int) -> MeasuredNeeds:
    envs: list[Any] = []
    step_seconds = start_seconds = 0.0
    steps = counted = 0
    base = 0
    while len(envs) < _MOST + _WARM:
        begin = time.process_time()
        env = make(spec)
        env.reset(seed=seed + len(envs))
        started = time.process_time() - begin
        envs.append(env)
        for _ in range(_STEPS):
            action = env.sample_random_action()
            begin = time.process_time()
            _, _, terminated, truncated, _ = env.step(action)
            spent = time.process_time() - begin
            if counted:
                step_seconds, steps = step_seconds + spent, steps + 1
            if terminated or truncated or getattr(env.unwrapped, "agents", None) == []:
                env.reset()
        if counted or len(envs) > _WARM:
            start_seconds, counted = start_seconds + started, counted + 1
        if len(envs) == _WARM:
            base = _resident_bytes()
        used = start_seconds + step_seconds
        if counted >= _WARM and (used > _ENOUGH_SECONDS or _resident_bytes() - base > _ENOUGH_BYTES):
            break
    each = max(0.0, (_resident_bytes() - base) / counted)
    for env in envs:
        env.close()
    return MeasuredNeeds(spec.id, counted, base, each, start_seconds / counted, max(step_seconds / max(steps, 1), 1e-9))


def _resident_bytes() -> int:
    """Return the resident memory of this process; where only its peak is known, that."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123  # no Path within the measurement
            pages = int(file.read().split()[1])
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    import mmap

    return pages * mmap.PAGESIZE


def _main() -> None:
    asked = EnvSpec.from_dict(json.load(sys.stdin))
    found = _measure(asked, int(sys.argv[1]))
    print(json.dumps(vars(found)))  # noqa: T201  # the answer


if __name__ == "__main__":
    _main()
