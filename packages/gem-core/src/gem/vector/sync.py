"""Vectorization without concurrency: the fastest mode for environments that only compute."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from gem.vector.env_runner import Maker, StepResult, describe
from gem.vector.local import LocalVectorEnv, close_runners

__all__ = ["SyncVectorEnv"]


class SyncVectorEnv(LocalVectorEnv):
    """Runs its environments one after the other in the calling thread.

    ``recv`` runs pending actions until all are done or the timeout has passed. Nothing can interrupt a step, so
    ``step_timeout`` has no effect.
    """

    @cached_property
    def _calls(self) -> deque[tuple[int, Callable[[Any], StepResult], Any]]:
        return deque()

    def _submit_steps(self, indices: Sequence[int], actions: Sequence[Any]) -> None:
        runners = self._runners
        self._calls.extend((index, runners[index].step, action) for index, action in zip(indices, actions, strict=True))
        self._call_again()

    def _submit_resets(self, indices: Sequence[int], arguments: Sequence[Mapping[str, Any]]) -> None:
        runners = self._runners
        self._calls.extend(
            (index, runners[index].reset, given) for index, given in zip(indices, arguments, strict=True)
        )
        self._call_again()

    def _submit_make(self, index: int, maker: Maker) -> None:
        self._calls.append((index, self._runners[index].make, maker))
        self._call_again()

    def _watch(self) -> None:
        """Do nothing: whatever leaves calls behind notifies at once, since collecting computes their results."""

    def _call_again(self) -> None:
        if self._notify is not None and self._calls:
            self._notify()

    def _collect(self, count: int, timeout: float | None) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        calls, arrived = self._calls, self._arrived
        while calls:
            index, call, argument = calls[0]
            if index not in arrived:  # otherwise an interrupt came between the call and the line below
                try:
                    arrived[index] = call(argument)
                except Exception as error:
                    arrived[index] = error
                except BaseException as error:
                    # Interrupted in the middle of the call: the environment's state is unknown.
                    arrived[index] = self._runners[index].give_up(describe(error))
                    raise
            calls.popleft()
            if deadline is not None and time.monotonic() >= deadline:
                self._call_again()
                break

    def _shut_down(self) -> None:
        self._calls.clear()
        close_runners(self._runners)
