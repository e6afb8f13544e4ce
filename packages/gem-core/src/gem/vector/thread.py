"""Vectorization with threads: for environments that wait, on tools, servers or disks."""

from __future__ import annotations

import time
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from gem.vector.lanes import GIVEN_UP, Lanes, Task
from gem.vector.local import LocalVectorEnv, close_slots
from gem.vector.slot import AutoresetMode, Maker

__all__ = ["ThreadVectorEnv"]

_MAX_HUNG = 8  # threads of one environment that may hang at a time


class ThreadVectorEnv(LocalVectorEnv):
    """Runs its environments in as few threads as will do, and in one each where they wait.

    An environment is run by one thread at a time, and not always by the same. One that does not return within
    ``step_timeout`` is left behind in its thread, which cannot be killed; its late result is discarded, and it is
    closed when it does return. When eight threads of an environment hang at the same time, it is not built again.
    """

    def __init__(
        self,
        makers: Sequence[Maker],
        *,
        autoreset: AutoresetMode | str = AutoresetMode.SAME_STEP,
        seeds: Sequence[int | None] | None = None,
        step_timeout: float | None = None,
    ) -> None:
        super().__init__(makers, autoreset=autoreset, seeds=seeds, step_timeout=step_timeout)
        self._steps = [slot.step for slot in self._slots]
        self._current: list[Task | None] = [None] * self.num_envs  # of each environment, what it has to finish
        self._lanes = Lanes(self.num_envs, self.step_timeout)
        # The threads hold the lanes but not this object, so they end with it even if nobody calls close().
        weakref.finalize(self, self._lanes.stop)

    def _submit_steps(self, indices: Sequence[int], actions: Sequence[Any]) -> None:
        steps = self._steps
        self._submit([(index, steps[index], action) for index, action in zip(indices, actions, strict=True)])

    def _submit_resets(self, indices: Sequence[int], arguments: Sequence[Mapping[str, Any]]) -> None:
        slots = self._slots
        self._submit([(index, slots[index].reset, given) for index, given in zip(indices, arguments, strict=True)])

    def _submit(self, tasks: list[Task]) -> None:
        current = self._current
        for task in tasks:
            current[task[0]] = task
        try:
            self._lanes.submit(tasks)
        except RuntimeError as error:  # the system has not a single thread for us
            for index, *_ in self._lanes.cancel():
                current[index] = None
                self._arrived[index] = error

    def _collect(self, count: int, timeout: float | None) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        finished, current, arrived = self._lanes.finished, self._current, self._arrived
        in_time = True
        while True:
            while finished:
                # Taken from the queue only when all is noted, and noting it twice changes nothing, so an
                # interrupt between any two lines loses no result.
                task, outcome = finished[0]
                index = task[0]
                if current[index] is not task:
                    if outcome is not GIVEN_UP:
                        self._lanes.settle(task)
                elif outcome is GIVEN_UP:
                    self._give_up(task)
                else:
                    arrived[index] = outcome
                    current[index] = None
                finished.popleft()
            if len(arrived) >= count or not in_time:
                return
            in_time = self._lanes.wait(count - len(arrived), deadline)

    def _give_up(self, task: Task) -> None:
        """Leave an environment behind in the thread that it keeps, and put another in its place."""
        index, call, _ = task
        old, in_step = self._slots[index], call is self._steps[index]
        rebuilding = old.lost  # then that hung, and a second time in one call would be too much
        error = f"TimeoutError: no return from {'step' if in_step else 'reset'} within {self.step_timeout} s"
        hung = self._lanes.orphans_of(index) + 1
        if hung >= _MAX_HUNG:
            error += f"; {hung} threads hang in this environment, so it is not built again"
        new = old.replacement(error, for_good=hung >= _MAX_HUNG)
        self._slots[index], self._steps[index] = new, new.step
        self._current[index] = None
        self._lanes.orphan(task, old.close)
        if not in_step:
            self._arrived[index] = new.failed_reset()
        elif self.autoreset is AutoresetMode.SAME_STEP and not rebuilding and hung < _MAX_HUNG:
            self._submit([(index, new.step, None)])  # builds the next environment, whatever the action
        else:
            self._arrived[index] = new.failed_step()

    def _shut_down(self) -> None:
        lanes = self._lanes
        running = {id(task): task for task in self._current if task is not None}
        for task in lanes.cancel():
            running.pop(id(task), None)
        for task in running.values():
            lanes.orphan(task, self._slots[task[0]].close)
        left_behind = {task[0] for task in running.values()}
        while lanes.finished:
            task, outcome = lanes.finished.popleft()
            if outcome is not GIVEN_UP:
                lanes.settle(task)
        lanes.stop()
        lanes.join()
        close_slots([slot for index, slot in enumerate(self._slots) if index not in left_behind])
