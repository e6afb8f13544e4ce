"""Vectorization with threads, for environments that wait on tools, servers or disks."""

from __future__ import annotations

import time
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from gem.vector.engine_access import EngineAccess
from gem.vector.env_runner import AutoresetMode, Maker, StepResult
from gem.vector.local import LocalEngineAccess, LocalVectorEnv, close_runners
from gem.vector.runner_account import RunnerAccount
from gem.vector.thread_scheduler import TIMED_OUT, Call, ThreadScheduler

__all__ = ["ThreadVectorEnv"]

_MAX_HUNG = 8  # threads of one environment that may hang at a time


class ThreadVectorEnv(LocalVectorEnv):
    """Runs its environments in as few threads as suffice, and environments that wait in a thread each.

    One thread at a time runs an environment, not always the same one. An environment that does not return within
    ``step_timeout`` stays behind in its thread, which cannot be killed. A late result is discarded, and the
    environment is then closed. Once eight threads of an environment hang at the same time, it is not built again.
    """

    def __init__(
        self,
        makers: Sequence[Maker | None],
        *,
        autoreset: AutoresetMode | str = AutoresetMode.SAME_STEP,
        seeds: Sequence[int | None] | None = None,
        step_timeout: float | None = None,
    ) -> None:
        super().__init__(makers, autoreset=autoreset, seeds=seeds, step_timeout=step_timeout)
        self._steps = [runner.step for runner in self._runners]
        self._current: list[Call | None] = [None] * self.num_envs  # of each environment, the pending call
        self._scheduler = ThreadScheduler(self.num_envs, self.step_timeout)
        # The threads hold the scheduler but not this object, so they end with it even without close().
        weakref.finalize(self, self._scheduler.stop)

    def _engine_access(self) -> EngineAccess[Any]:
        return ThreadEngineAccess(self)

    def _submit_steps(self, indices: Sequence[int], actions: Sequence[Any]) -> None:
        steps = self._steps
        self._submit([(index, steps[index], action) for index, action in zip(indices, actions, strict=True)])

    def _submit_resets(self, indices: Sequence[int], arguments: Sequence[Mapping[str, Any]]) -> None:
        runners = self._runners
        self._submit([(index, runners[index].reset, given) for index, given in zip(indices, arguments, strict=True)])

    def _submit_make(self, index: int, maker: Maker) -> None:
        self._submit([(index, self._runners[index].make, maker)])

    def _watch(self) -> None:
        self._scheduler.notify(self._notify)

    def _submit(self, calls: list[Call]) -> None:
        current = self._current
        for call in calls:
            current[call[0]] = call
        try:
            self._scheduler.submit(calls)
        except RuntimeError as error:  # the system grants no thread at all
            for index, *_ in self._scheduler.cancel():
                current[index] = None
                self._arrived[index] = error
            if self._notify is not None:
                self._notify()

    def _collect(self, count: int, timeout: float | None) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        finished, current, arrived = self._scheduler.finished, self._current, self._arrived
        in_time = True
        while True:
            while finished:
                # The result leaves the queue last, and noting it twice changes nothing, so an interrupt between any
                # two lines loses no result.
                call, result = finished[0]
                index = call[0]
                if current[index] is not call:
                    if result is not TIMED_OUT:
                        self._scheduler.close_abandoned(call)
                elif result is TIMED_OUT:
                    self._give_up(call)
                else:
                    arrived[index] = result
                    current[index] = None
                finished.popleft()
            if len(arrived) >= count or not in_time:
                return
            in_time = self._scheduler.wait(count - len(arrived), deadline)

    def _give_up(self, call: Call) -> None:
        """Leave an environment behind in its thread, and put another in its place."""
        index, function, _ = call
        old, in_step = self._runners[index], function is self._steps[index]
        name = "step" if in_step else function.__name__
        rebuilding = old.lost  # then the rebuild hung, and one attempt per call is enough
        error = f"TimeoutError: no return from {name} within {self.step_timeout} s"
        hung = self._scheduler.count_abandoned(index) + 1
        if hung >= _MAX_HUNG:
            error += f"; {hung} threads hang in this environment, so it is not built again"
        new = old.replacement(error, for_good=hung >= _MAX_HUNG)
        self._runners[index], self._steps[index] = new, new.step
        self._current[index] = None
        self._scheduler.abandon(call, old.close)
        if not in_step:
            self._arrived[index] = new.failed_reset()
        elif self.autoreset is AutoresetMode.SAME_STEP and not rebuilding and hung < _MAX_HUNG:
            self._submit([(index, new.step, None)])  # builds the next environment; the action does not matter
        else:
            self._arrived[index] = new.failed_step()

    def _shut_down(self) -> None:
        scheduler = self._scheduler
        running = {id(call): call for call in self._current if call is not None}
        for call in scheduler.cancel():
            running.pop(id(call), None)
        for call in running.values():
            scheduler.abandon(call, self._runners[call[0]].close)
        left_behind = {call[0] for call in running.values()}
        while scheduler.finished:
            call, result = scheduler.finished.popleft()
            if result is not TIMED_OUT:
                scheduler.close_abandoned(call)
        scheduler.stop()
        scheduler.join()
        close_runners([runner for index, runner in enumerate(self._runners) if index not in left_behind])


class ThreadEngineAccess(LocalEngineAccess[ThreadVectorEnv]):
    """Also steps environments in the caller's thread."""

    runs_in_threads = True

    def step_here(self, index: int, action: Any) -> StepResult:
        return self.envs._runners[index].step(action)

    def revive(self, index: int, maker: Maker, account: RunnerAccount, error: str, observation: Any) -> None:
        super().revive(index, maker, account, error, observation)
        self.envs._steps[index] = self.envs._runners[index].step
