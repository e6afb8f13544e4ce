"""What a step of an environment costs, and whether it computes or waits: :func:`step_cost`."""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from gem.core import Env
from gem.errors import NotSupportedError
from gem.tools import ToolEnvWrapper
from gem.vector.env_runner import Maker, check_single_agent, describe
from gem.vector.mode_choice import StepCost

__all__ = ["step_cost", "voluntary_switches"]

_SECONDS = 0.03  # of wall-clock time that the steps of an environment are measured for
_FIRST = 1.0  # seconds up to which the first step counts as one that loads modules or builds tables, and is left out
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
    with suppress(Exception, SystemExit):  # it has no further use
        env.close()


def _measured_steps(env: Env[Any, Any]) -> StepCost:
    """Step in chunks that grow, so that slow steps are few and the clocks' own cost is not measured."""
    steps, wall, cpu, waits, chunk = 0, 0.0, 0.0, 0, 1
    first = True
    while wall < _SECONDS:
        actions = [_action(env) for _ in range(chunk)]
        switches, cpu_begin, begin = voluntary_switches(), time.thread_time(), time.perf_counter()
        _play(env, actions)
        spent, computed = time.perf_counter() - begin, time.thread_time() - cpu_begin
        after = voluntary_switches()
        if first and spent < _FIRST:
            first = False
            continue
        steps, wall, cpu = steps + chunk, wall + spent, cpu + computed
        waits += chunk if switches is None or after is None else after - switches
        chunk = min(2 * chunk, _CHUNK)
    return StepCost(
        steps,
        computing=cpu / steps,
        waiting=max(0.0, wall - cpu) / steps if waits >= steps / 2 else 0.0,
        has_tools=_has_tools(env),
    )


def _play(env: Env[Any, Any], actions: list[Any]) -> None:
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()


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
