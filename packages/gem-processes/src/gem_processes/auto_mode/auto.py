"""``mode="auto"``: measures for a moment what steps cost, and chooses the mode."""

from __future__ import annotations

import pickle
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from gem import built_in
from gem.cpus import usable_cpus
from gem.entry_points import load, name_of
from gem.env_spec import EnvSpec
from gem.plugins import lookup
from gem.vector.base import VectorEnv
from gem.vector.env_runner import AutoresetMode, Maker, describe
from gem.vector.thread import ThreadVectorEnv
from gem.vector.thread_scheduler import Call
from gem_processes.auto_mode.mode_choice import ModeChoice, StepCost, choose
from gem_processes.auto_mode.step_cost import step_cost, voluntary_switches

__all__ = ["AutoVectorEnv", "auto_vector_env"]

_MEASURED_FOR = 1.0  # seconds after which no further kind of environment is measured
_WAIT_ELSEWHERE = {"docker", "network"}  # requirements of environments whose steps wait
_CHECKED_TOGETHER = 8  # calls in the caller's thread between two looks at the clock
_LONG = 0.002  # seconds; calls that take longer together may have waited
_WATCHED = 64  # calls that are watched one by one after such a look
_WAITS = 2  # of them that must have waited before threads take over


def auto_vector_env(
    makers: Sequence[Maker | None],
    *,
    autoreset: AutoresetMode | str = AutoresetMode.SAME_STEP,
    seeds: Sequence[int | None] | None = None,
    step_timeout: float | None = None,
) -> VectorEnv:
    """Make a vector environment of the mode that suits these environments; its ``mode_choice`` says why.

    Before all others, one environment of each id is made, stepped under random actions for a moment or at least one
    step, and closed; none where its class or its manifest says how it runs. The steps of a class with
    ``vector_mode = "…"`` belong to that mode, those that need a network or a container engine into threads.
    """
    settings: dict[str, Any] = {"autoreset": autoreset, "seeds": seeds, "step_timeout": step_timeout}
    kinds = _kinds(makers)
    made = _declared(kinds)
    if made is None:
        made = _measured(kinds, step_timeout)
    if made.mode not in ("sync", "thread"):
        backend: Callable[..., VectorEnv] = lookup("gem_vector_backends", made.mode, "vectorization mode")
        try:
            envs = backend(makers, **settings)
        except Exception as error:
            if made.mode != "process":
                raise
            # If it is the environments that cannot be built, they say so again below.
            made = replace(made, mode="sync", reason=f"{made.reason} Processes failed: {describe(error)}.")
        else:
            envs.mode_choice = made
            return envs
    return AutoVectorEnv(makers, **settings, choice=made)


class AutoVectorEnv(ThreadVectorEnv):
    """Runs environments that compute in the caller's thread, as sync mode does, and others as thread mode does.

    If steps begin to wait in the caller's thread, threads take over, and ``mode_choice`` says so.
    """

    mode_choice: ModeChoice

    def __init__(
        self,
        makers: Sequence[Maker | None],
        *,
        choice: ModeChoice,
        autoreset: AutoresetMode | str = AutoresetMode.SAME_STEP,
        seeds: Sequence[int | None] | None = None,
        step_timeout: float | None = None,
    ) -> None:
        """Build all environments; if one cannot be built, close the others and raise."""
        super().__init__(makers, autoreset=autoreset, seeds=seeds, step_timeout=step_timeout)
        self.mode_choice = choice
        self._stays = choice.mode == "sync" and step_timeout is None
        self._calls: deque[Call] = deque()  # those that the next wait for results will run
        self._long = _LONG
        self._watched = 0  # calls that are still watched one by one
        self._waits = 0  # of them that waited

    def _submit(self, calls: list[Call]) -> None:
        if self._stays and self._notify is None:  # an event loop must not wait for steps
            self._calls.extend(calls)
        else:
            super()._submit(calls)

    def _watch(self) -> None:
        self._leave_to_threads()
        super()._watch()

    def _collect(self, count: int, timeout: float | None) -> None:
        if self._calls:
            deadline = None if timeout is None else time.monotonic() + timeout
            while self._calls:
                if self._watched:
                    self._run_watched()
                else:
                    self._run_some(len(self._calls) if deadline is None else 1)
                if deadline is not None and time.monotonic() >= deadline:
                    timeout = 0.0
                    break
        super()._collect(count, timeout)

    def _shut_down(self) -> None:
        self._calls.clear()
        super()._shut_down()

    def _run_some(self, count: int) -> None:
        """Run ``count`` calls, or fewer if some took so long that they may have waited."""
        calls, clock = self._calls, time.perf_counter
        before = clock()
        for begun in range(0, count, _CHECKED_TOGETHER):
            for _ in range(min(count - begun, _CHECKED_TOGETHER)):
                self._run(calls[0])
                calls.popleft()
            now = clock()
            if now - before > self._long:
                self._watched, self._waits = _WATCHED, 0
                return
            before = now

    def _run_watched(self) -> None:
        """Run a call, and have threads take over if it is not the first that waited."""
        self._watched -= 1
        switches, cpu, begin = voluntary_switches(), time.thread_time(), time.perf_counter()
        self._run(self._calls[0])
        self._calls.popleft()
        spent = time.perf_counter() - begin
        waited = spent - (time.thread_time() - cpu)
        if waited > max(_LONG / _CHECKED_TOGETHER, spent / 2) and (
            switches is None or voluntary_switches() != switches
        ):
            self._waits += 1
            self._leave_to_threads()  # this batch, in any case
            if self._waits >= _WAITS:
                self._stays = False
                self.mode_choice = replace(
                    self.mode_choice, mode="thread", reason=f"{self.mode_choice.reason} Later, steps waited."
                )
        elif not self._watched:
            self._long *= 4  # these steps compute for that long

    def _run(self, call: Call) -> None:
        index, function, argument = call
        arrived = self._arrived
        if index in arrived:  # an interrupt came between the call and its removal
            return
        try:
            arrived[index] = function(argument)
        except Exception as error:
            arrived[index] = error
        except BaseException as error:
            # Interrupted in the middle of the call: the environment's state is unknown.
            arrived[index] = self._runners[index].give_up(describe(error))
            raise

    def _leave_to_threads(self) -> None:
        calls = list(self._calls)
        self._calls.clear()
        if calls:
            super()._submit(calls)


def _kinds(makers: Sequence[Maker | None]) -> list[tuple[Maker, EnvSpec | None, int]]:
    """Return a maker, its spec and the number of environments, for each id or hand-written maker."""
    kinds: dict[Any, tuple[Maker, EnvSpec | None, int]] = {}
    for maker in makers:
        if maker is not None:
            spec: EnvSpec | None = getattr(maker, "spec", None)
            key = id(maker) if spec is None else (spec.id, name_of(spec.entry_point))
            kinds[key] = (*kinds[key][:2], kinds[key][2] + 1) if key in kinds else (maker, spec, 1)
    return list(kinds.values())


def _declared(kinds: Sequence[tuple[Maker, EnvSpec | None, int]]) -> ModeChoice | None:
    """Return the choice that needs no measurement, if the environments say enough."""
    modes = [
        getattr(maker if spec is None else load(spec.entry_point), "vector_mode", None) for maker, spec, _ in kinds
    ]
    declared = {mode for mode in modes if mode is not None}
    if len(declared) == 1 and None not in modes:
        mode = str(declared.pop())
        return ModeChoice(mode, f"the environments belong into {mode} mode, as their class says.")
    if declared:
        return ModeChoice("thread", f"some of the environments belong into {' and '.join(sorted(declared))} mode.")
    for _, spec, _ in kinds:
        needs = sorted(_WAIT_ELSEWHERE.intersection(spec.requires)) if spec is not None else []
        if needs:
            assert spec is not None
            return ModeChoice("thread", f"{spec.id} needs {' and '.join(needs)}, so its steps wait.")
    return None


def _measured(kinds: Sequence[tuple[Maker, EnvSpec | None, int]], step_timeout: float | None) -> ModeChoice:
    begin = time.monotonic()
    costs: list[tuple[str, int, StepCost]] = []
    for maker, spec, count in kinds:
        if not costs or time.monotonic() - begin < _MEASURED_FOR:
            cost = step_cost(maker, step_timeout)
        else:
            cost = StepCost(0, problem="the others took too long")
        costs.append((getattr(maker, "__name__", "environment") if spec is None else spec.id, count, cost))
    modes = ["sync", "thread"]
    if (
        "process" in built_in.VECTOR_BACKENDS
        and sys.platform == "linux"
        and all(_travels(maker) for maker, *_ in kinds)
    ):
        modes.append("process")
    return choose(costs, modes, usable_cpus(), step_timeout)


def _travels(maker: Maker) -> bool:
    """Return whether another process can make the environment."""
    try:
        return b"__main__" not in pickle.dumps(maker)
    except Exception:  # whatever the objects in it raise
        return False
