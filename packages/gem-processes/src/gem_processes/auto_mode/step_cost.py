"""What a step of an environment costs, and whether it computes or waits: :func:`step_cost`."""

from __future__ import annotations

import random
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from gem.core import Env
from gem.errors import NotSupportedError
from gem.faults import suppress_faults
from gem.tools import ToolEnvWrapper
from gem.vector.env_runner import Maker, StepResult, check_single_agent, describe, seed_after
from gem_processes.auto_mode.mode_choice import StepCost
from gem_processes.process_mode.packing import pack_batch, unpack_batch

__all__ = ["step_cost", "voluntary_switches"]

_WARMING = 0.01  # seconds of wall-clock time that are left out: first steps build tables and fill caches
_FIRST = 1.0  # seconds up to which the first step counts as one of those, however long it takes
_SECONDS = 0.03  # seconds that are measured at least
_LONGEST = 0.15  # seconds that are measured at most, unless one step takes longer
_WINDOW = 0.005  # seconds whose mean is one figure; the median of the figures counts, so that other work hardly does
_PRECISE = 0.04  # relative standard error of the figures that is precise enough
_CHUNK = 64  # steps between two looks at the clocks, at most
_SEED = 0


def step_cost(maker: Maker, time_limit: float | None) -> StepCost:
    """Make an environment, step it for a moment, and close it.

    It is one that nobody else uses, and the process's generators are as before afterwards, so no episode changes. A
    failure, or more than ``time_limit`` seconds, is returned as a ``problem``. With a time limit the environment
    is stepped in a thread of its own, which closes it if it ever returns.
    """
    measured: list[StepCost] = []
    with _generators_kept():
        if time_limit is None:
            _measure(maker, measured)
        else:
            thread = threading.Thread(target=_measure, args=(maker, measured), name="gem-vector-measure", daemon=True)
            thread.start()
            thread.join(time_limit)
    return measured[0] if measured else StepCost(0, problem=f"it did not return within {time_limit} s")


def voluntary_switches() -> int | None:
    """Return how often this thread has waited so far; None if the system does not count that.

    Wall-clock time without CPU time is no sign of waiting on a busy machine, where other work takes the processor away.
    """
    try:
        import resource

        return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
    except (ImportError, AttributeError):  # Windows; macOS
        return None


def _measure(maker: Maker, measured: list[StepCost]) -> None:
    """Append the cost."""
    try:
        env = maker()
    except (Exception, SystemExit) as error:
        measured.append(StepCost(0, problem=describe(error)))
        return
    try:
        check_single_agent(env)
        env.reset(seed=_SEED)
        measured.append(_measured_steps(env))
    except (Exception, SystemExit) as error:
        measured.append(StepCost(0, has_tools=_has_tools(env), problem=describe(error)))
    with suppress_faults():  # it has no further use
        env.close()


def _measured_steps(env: Env[Any, Any]) -> StepCost:
    play = _MeasuredPlay(env)
    play.steps_for(_WARMING)
    if play.wall < _FIRST:
        play.forget()
    while play.wall < _SECONDS or (play.wall < _LONGEST and not _is_precise(play.totals)):
        play.steps_for(_WINDOW)
    packing, unpacking = _message_cost(play.results)
    return StepCost(
        play.steps,
        computing=statistics.median(play.figures) + play.reset_cpu / play.steps,
        waiting=max(0.0, play.wall - play.cpu) / play.steps if play.waits >= play.steps / 2 else 0.0,
        packing=packing,
        unpacking=unpacking,
        has_tools=_has_tools(env),
    )


class _MeasuredPlay:
    """Steps an environment under random actions, resets it as autoreset does, and adds up what that costs.

    Resets are measured apart: they are few, and may cost a thousand times as much as a step.
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        self._env = env
        self._in_order = env.unwrapped.follows_order
        self._episodes = 0
        self._chunk = 1
        self._clock = _clock_cost()
        self.results: list[StepResult] = []
        """Of the last steps, as autoreset in the same step returns them."""
        self.forget()

    def forget(self) -> None:
        """Begin to count anew."""
        self.steps = self.waits = 0
        self.wall = self.cpu = self.reset_cpu = 0.0
        self.figures: list[float] = []
        """Of each call of ``steps_for``, the CPU seconds of a step."""
        self.totals: list[float] = []
        """The same with the resets."""

    def steps_for(self, seconds: float) -> None:
        """Step for so many seconds, at least once, in chunks that grow, so that slow steps are few."""
        end, steps, cpu, reset_cpu = self.wall + seconds, self.steps, self.cpu, self.reset_cpu
        while self.wall < end:
            switches = voluntary_switches()
            self._play(self._chunk)
            after = voluntary_switches()
            self.steps += self._chunk
            self.waits += self._chunk if switches is None or after is None else after - switches
            self._chunk = min(2 * self._chunk, _CHUNK)
        self.totals.append((self.cpu - cpu) / (self.steps - steps))
        self.figures.append(max(0.0, self.cpu - cpu - (self.reset_cpu - reset_cpu)) / (self.steps - steps))

    def _play(self, steps: int) -> None:
        env, results, clock, cpu_clock = self._env, self.results, time.perf_counter, time.thread_time
        results.clear()
        for _ in range(steps):
            # Each action is chosen for the state in which it is played, as an illegal one may cost less.
            action = _action(env)
            begin, cpu_begin = clock(), cpu_clock()
            result = env.step(action)
            if result[2] or result[3]:
                reset_begin = cpu_clock()
                self._episodes += 1
                seed = None if self._in_order else seed_after(_SEED, "episode", self._episodes)
                observation, info = env.reset(seed=seed)
                self.reset_cpu += cpu_clock() - reset_begin
                last = {"final_observation": result[0], "final_info": result[4]}
                result = (observation, *result[1:4], {**info, **last})
            self.cpu += max(0.0, cpu_clock() - cpu_begin - self._clock)
            self.wall += clock() - begin
            results.append(result)


def _clock_cost() -> float:
    """Return the CPU seconds between two readings of the thread's clock."""
    readings = [time.thread_time() for _ in range(100)]
    return statistics.median(after - before for before, after in pairwise(readings))


def _is_precise(figures: list[float]) -> bool:
    """Return whether the mean of figures is known well enough."""
    if len(figures) < 3:
        return False
    error: float = statistics.stdev(figures) / len(figures) ** 0.5
    return error <= _PRECISE * statistics.mean(figures)


def _message_cost(results: list[StepResult]) -> tuple[float, float]:
    """Return the CPU seconds for packing the result of a step, and for unpacking it; 0 if that cannot be done."""
    packing, unpacking = [], []
    try:
        for _ in range(3):
            begin = time.thread_time()
            data = pack_batch(None, results, _cannot_pack)
            packed = time.thread_time()
            unpack_batch(data)
            packing.append(packed - begin)
            unpacking.append(time.thread_time() - packed)
    except Exception:  # whatever the objects in them raise
        return 0.0, 0.0
    return min(packing) / len(results), min(unpacking) / len(results)


def _cannot_pack(position: int, error: Exception) -> Any:
    raise error


def _action(env: Env[Any, Any]) -> Any:
    try:
        return env.sample_random_action()
    except NotSupportedError:
        return "\\boxed{0}"


def _has_tools(env: Any) -> bool:
    while env is not None:
        if isinstance(env, ToolEnvWrapper):
            return True
        env = getattr(env, "env", None)
    return False


@contextmanager
def _generators_kept() -> Iterator[None]:
    """Leave Python's and NumPy's global generators as they are, for environments that draw from them."""
    state = random.getstate()
    numpy = sys.modules.get("numpy")
    numpy_state = None if numpy is None else numpy.random.get_state()
    try:
        yield
    finally:
        random.setstate(state)
        if numpy is not None:
            numpy.random.set_state(numpy_state)
