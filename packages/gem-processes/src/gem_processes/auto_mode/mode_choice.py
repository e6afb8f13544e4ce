"""The mode that ``mode="auto"`` chooses, and why: :class:`ModeChoice`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["ModeChoice", "StepCost", "choose"]

# As benchmarks/thread_mode.py, process_mode.py and auto_mode.py find them where little else runs. In seconds:
_HANDOFF = 25e-6  # that a step in a thread of its own costs the interpreter
_RUN = 1e-6  # that a step costs beside the environment's own work, in any mode
_SENT, _SERVED = 1e-6, 1.5e-6  # that a step in another process costs the caller and the process, without its result
_BATCH, _MESSAGE = 90e-6, 25e-6  # that the caller spends on the messages of a batch, and on those of each process
# Factors of the work of one environment alone:
_MANY = 1.08  # where many environments share the processor's caches
_WOKEN = 1.05  # in a process that has slept since the last batch
_WORTH = 0.95  # of a simpler mode's time, which another one must stay below


@dataclass(frozen=True)
class StepCost:
    """What a step under random actions costs, the resets between episodes included."""

    steps: int
    """Number of measured steps; 0 if the environment could not be measured."""
    computing: float = 0.0
    """CPU seconds of the thread that steps, for each step."""
    waiting: float = 0.0
    """Seconds in which that thread waited, for each step."""
    packing: float = 0.0
    """CPU seconds that a process needs to pack the result of a step for another one."""
    unpacking: float = 0.0
    """The same for the process that unpacks it."""
    has_tools: bool = False
    """Whether tools answer some actions; random ones call none, so that the figures say nothing about them."""
    problem: str = ""
    """Why it could not be measured."""


@dataclass(frozen=True)
class ModeChoice:
    """The mode that runs the environments, and why."""

    mode: str
    reason: str
    """A sentence."""
    costs: Mapping[str, StepCost] = field(default_factory=dict)
    """What was measured, by id."""
    predicted: Mapping[str, float] = field(default_factory=dict)
    """Seconds that a step of all environments should take, by mode."""


def choose(
    kinds: Sequence[tuple[str, int, StepCost]], modes: Collection[str], processors: int, time_limit: float | None
) -> ModeChoice:
    """Choose between the modes of one machine.

    Args:
        kinds: id, number of environments, and cost of a step of each kind of environment.
        modes: ``"sync"`` and ``"thread"``, and ``"process"`` where the environments can run in other processes.
        processors: number of processors that processes may use.
        time_limit: the time limit of a step; sync mode cannot enforce one.
    """
    costs = {env_id: cost for env_id, _, cost in kinds}
    measured = [(count, cost) for _, count, cost in kinds if cost.steps]
    if any(cost.has_tools for cost in costs.values()):
        return ModeChoice("thread", "the environments have tools, and a call of a tool may wait.", costs)
    if not measured:
        problem = next((cost.problem for cost in costs.values() if cost.problem), "there is none yet")
        mode = "sync" if time_limit is None and kinds else "thread"
        return ModeChoice(mode, f"the environments could not be measured: {problem}.", costs)
    predicted = {mode: seconds for mode, seconds in _predict(measured, processors).items() if mode in modes}
    if time_limit is not None:
        predicted.pop("sync", None)
    best = min(predicted.values())
    mode = next(mode for mode, seconds in predicted.items() if _WORTH * seconds <= best)
    total = sum(count for count, _ in measured)
    computing, waiting = (
        sum(count * value for count, value in values) / total
        for values in (
            [(count, cost.computing) for count, cost in measured],
            [(count, cost.waiting) for count, cost in measured],
        )
    )
    expected = ", ".join(f"{_seconds(seconds)} in {name} mode" for name, seconds in predicted.items())
    reason = f"a step computes {_seconds(computing)} and waits {_seconds(waiting)}, so {total} take {expected}."
    return ModeChoice(mode, reason, costs, predicted)


def _predict(kinds: Sequence[tuple[int, StepCost]], processors: int) -> dict[str, float]:
    """Return the seconds that a step of all environments takes, by mode, the simplest mode first."""
    total = sum(count for count, _ in kinds)
    computing = sum(count * (_MANY * cost.computing + _RUN) for count, cost in kinds)
    waiting = sum(count * cost.waiting for count, cost in kinds)
    waiters = sum(count for count, cost in kinds if cost.waiting)
    predicted = {
        "sync": computing + waiting,
        "thread": computing + max(waiters, 1) * _HANDOFF + max(cost.waiting for _, cost in kinds),
    }
    workers = min(processors, total)
    if workers > 1:
        served = _WOKEN * computing + waiting + sum(count * (cost.packing + _SERVED) for count, cost in kinds)
        received = sum(count * (cost.unpacking + _SENT) for count, cost in kinds)
        predicted["process"] = served / workers + received + workers * _MESSAGE + _BATCH
    return predicted


def _seconds(seconds: float) -> str:
    return f"{1e6 * seconds:.3g} µs" if seconds < 1e-3 else f"{1e3 * seconds:.3g} ms"
