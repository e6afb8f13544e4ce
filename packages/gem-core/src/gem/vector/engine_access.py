"""What an engine may ask of a vector environment, beyond the interface for users: :class:`EngineAccess`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from gem.errors import NotSupportedError
from gem.vector.base import VectorEnv
from gem.vector.env_runner import Maker, StepResult
from gem.vector.runner_account import RunnerAccount

__all__ = ["EngineAccess"]

_SLICE = 0.005  # seconds that take_ready computes in sync mode

VectorEnvT = TypeVar("VectorEnvT", bound=VectorEnv)


class EngineAccess(Generic[VectorEnvT]):
    """An event loop's and an actor's way to the environments of a vector environment.

    :meth:`of` returns that of any vector environment. A backend owes its engine ``VectorEnv._watch`` and
    ``_submit_make``, and overrides ``VectorEnv._engine_access`` where a method below needs its own data. This class
    raises NotSupportedError for whatever a backend does not override and cannot do.

    The rules of :class:`gem.vector.VectorEnv` hold: one caller at a time, and at most one pending action of an
    environment.
    """

    is_local = False
    """Whether the environments live in this process, so that a maker may keep what it sees."""

    runs_in_threads = False
    """Whether each environment may wait in a thread of this process; :meth:`step_here` works only there."""

    def __init__(self, envs: VectorEnvT) -> None:
        self.envs = envs

    @staticmethod
    def of(envs: VectorEnv) -> EngineAccess[Any]:
        """Return the access to a vector environment."""
        own: EngineAccess[Any] | None = envs._engine_access()
        return EngineAccess(envs) if own is None else own

    def notify(self, callback: Callable[[], None] | None) -> None:
        """Have a function called when results become ready: for event loops, which must not wait in ``recv``.

        Any thread may call it, at least once for results that come after a :meth:`take_ready`, and sometimes without
        need. It must return soon, raise nothing, and call nothing of the vector environment.
        """
        envs = self.envs
        envs._check_open()
        envs._notify = callback
        envs._watch()
        if callback is not None and envs._pending:
            callback()

    def take_ready(self) -> list[tuple[int, StepResult | BaseException]]:
        """Return the results that are ready, by index and as they are, without waiting.

        The counterpart of :meth:`notify`, cheaper than ``recv``: nothing is stacked. An exception takes the place of a
        result where ``recv`` would raise it; the environment then needs a reset. In sync mode this call computes
        results for a few milliseconds.
        """
        envs = self.envs
        envs._check_open()
        # Even if nothing is pending: the callback may have been called without need, or because a process was lost.
        envs._watch()
        if not envs._pending:
            envs._arrived.clear()  # results of a lock-step call
        envs._collect(0, _SLICE)
        arrived = envs._arrived
        ready = list(arrived.items())
        envs._pending.difference_update(arrived)
        for index, result in ready:
            if type(result) is not tuple:
                envs._unset.add(index)
                del arrived[index]
        envs._note(arrived)
        arrived.clear()
        return ready

    def send_resets(self, arguments: Mapping[int, Mapping[str, Any]]) -> None:
        """Begin episodes, each with its own arguments of ``Env.reset``, and return at once.

        Args:
            arguments: by the index of an environment without a pending action.
        """
        indices = list(arguments)
        self.envs._begin(indices)
        self.envs._submit_resets(indices, list(arguments.values()))

    def step_here(self, index: int, action: Any) -> StepResult:
        """Play a turn in the caller's thread, where nothing is pending.

        Raises:
            ResetNeededError, EpisodeFinishedError: as ``send`` and ``recv``; other faults are in the result.
        """
        raise NotSupportedError(f"{type(self.envs).__name__} plays no turns in the caller's thread")

    def class_name(self, index: int) -> str:
        """Return the name of the class of an environment, also where ``env_at`` is a stand-in."""
        return type(self.envs.env_at(index)).__name__

    def making_error(self, index: int) -> BaseException | None:
        """Return the exception with which the last ``send_make`` has failed, where it comes from elsewhere."""
        return None

    def account(self, index: int) -> RunnerAccount:
        """Return what :meth:`revive` needs to know of an environment without a pending action."""
        raise NotSupportedError(f"{type(self.envs).__name__} keeps no accounts of its environments")

    def revive(self, index: int, maker: Maker, account: RunnerAccount, error: str, observation: Any) -> None:
        """Put an environment in the place of one that was lost with another process, where nothing is pending.

        It goes on as after a fault; see :meth:`gem.vector.env_runner.EnvRunner.revived`, which has the same arguments.
        """
        raise NotSupportedError(f"{type(self.envs).__name__} revives no environments of other processes")
