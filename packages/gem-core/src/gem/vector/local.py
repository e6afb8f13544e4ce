"""The common part of the modes whose environments live in this process."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeVar

from gem.core import Env
from gem.env_spec import EnvSpec
from gem.errors import LostEnvironmentError, VectorError
from gem.vector.base import VectorEnv
from gem.vector.engine_access import EngineAccess
from gem.vector.env_runner import AutoresetMode, EnvRunner, Maker, check_single_agent, describe
from gem.vector.runner_account import RunnerAccount

__all__ = ["LocalEngineAccess", "LocalVectorEnv"]

LocalVectorEnvT = TypeVar("LocalVectorEnvT", bound="LocalVectorEnv")


class LocalVectorEnv(VectorEnv):
    """A vector environment that holds its environments itself."""

    def __init__(
        self,
        makers: Sequence[Maker | None],
        *,
        autoreset: AutoresetMode | str = AutoresetMode.SAME_STEP,
        seeds: Sequence[int | None] | None = None,
        step_timeout: float | None = None,
    ) -> None:
        """Build all environments, one after the other; if one cannot be built, close the others and raise."""
        super().__init__(makers, autoreset=autoreset, seeds=seeds, step_timeout=step_timeout)
        self._runners: list[EnvRunner] = []
        try:
            for maker, seed in zip(self._makers, self._seeds, strict=True):
                self._runners.append(EnvRunner(maker, self.autoreset, seed))
                check_single_agent(self._runners[-1].env)
        except BaseException:
            self.closed = True
            with suppress(VectorError):  # the first exception says more
                close_runners(self._runners)
            raise

    @property
    def envs(self) -> tuple[Env[Any, Any], ...]:
        """The environments; one that failed is replaced by a new one, so do not hold references.

        Raises:
            LostEnvironmentError: if one has failed and is not built again yet.
            VectorError: after ``close``.
        """
        self._check_open()
        return tuple(self.env_at(index) for index in range(self.num_envs))

    def env_at(self, index: int) -> Env[Any, Any]:
        runner = self._runners[index]
        if runner.env is None:
            raise LostEnvironmentError(f"environment {index} has failed and is not built again yet: {runner.error}")
        return runner.env

    def _engine_access(self) -> EngineAccess[Any]:
        return LocalEngineAccess(self)

    @property
    def specs(self) -> tuple[EnvSpec | None, ...]:
        """The spec of each environment; None for one that was constructed by hand."""
        living = [runner.env for runner in self._runners]
        return tuple(known if env is None else env.spec for known, env in zip(super().specs, living, strict=True))


class LocalEngineAccess(EngineAccess[LocalVectorEnvT]):
    """Reaches the runners themselves."""

    is_local = True

    def account(self, index: int) -> RunnerAccount:
        return self.envs._runners[index].account

    def revive(self, index: int, maker: Maker, account: RunnerAccount, error: str, observation: Any) -> None:
        self.envs._runners[index] = EnvRunner.revived(maker, self.envs.autoreset, account, error, observation)
        self.envs._unset.discard(index)


def close_runners(runners: Sequence[EnvRunner]) -> None:
    """Close all runners.

    Raises:
        VectorError: if some failed to close.
    """
    errors: list[Exception] = []
    for runner in runners:
        try:
            runner.close()
        except Exception as error:
            errors.append(error)
    if errors:
        raise VectorError(f"{len(errors)} environments could not be closed; the first: {describe(errors[0])}")
