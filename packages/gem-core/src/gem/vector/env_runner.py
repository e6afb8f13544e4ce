"""One environment inside a vector environment: autoreset, faults, rebuilding.

Every vectorization mode runs this code, in the thread or process of the environment, so that all modes behave
alike.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from copy import copy
from enum import Enum
from math import isfinite
from typing import Any

from gem.core import Env, Info
from gem.errors import ArgumentError, EpisodeFinishedError, InvalidResultError, NotSupportedError, ResetNeededError
from gem.faults import INTERRUPTS, suppress_faults
from gem.vector.runner_account import RunnerAccount, RunnerPhase

__all__ = [
    "AutoresetMode",
    "EnvRunner",
    "Maker",
    "StepResult",
    "check_single_agent",
    "describe",
    "seed_after",
]

Maker = Callable[[], Env[Any, Any]]
"""Builds the environment, and rebuilds it after a fault. Modes with other processes need a picklable maker."""

StepResult = tuple[Any, float, bool, bool, Info]
"""Observation, reward, terminated, truncated, info: the result of ``EnvRunner.step`` and ``EnvRunner.reset``."""

_ERROR_LENGTH = 2000  # characters; an exception can carry a whole document


class AutoresetMode(str, Enum):
    """The behaviour after the last step of an episode, in Gymnasium's words."""

    SAME_STEP = "same_step"
    """The step that ends an episode also begins the next one, and returns its first observation and info."""

    NEXT_STEP = "next_step"
    """The next step ignores its action, begins the next episode and returns reward 0.0 and false flags."""

    DISABLED = "disabled"
    """The environment waits for a reset; a step before it is an error."""


class EnvRunner:
    """Runs one environment, and rebuilds it when it fails.

    An environment fails when it raises, or when its reward is not a finite number. The call reports a truncated episode
    whose info has ``error``. The environment is closed and, where the autoreset mode asks for the next episode, built
    and reset again. Each call builds at most once, so a broken environment causes an error each time, not an endless
    loop.

    Each autoreset brings a seed that follows from the last given seed and the number of episodes since, so that the
    episode can be played again alone; an environment with :attr:`gem.Env.follows_order` goes on in its order instead.
    ``info["seed"]`` names the seed in the first and the last info of an episode, where it is known.

    ``SystemExit`` counts as a fault: an environment must not end the program. ``ResetNeededError``,
    ``EpisodeFinishedError`` and ``KeyboardInterrupt`` are no faults of the environment and are passed on.
    """

    def __init__(self, maker: Maker | None, autoreset: AutoresetMode, seed: int | None = None) -> None:
        """Build the environment; exceptions of ``maker`` are passed on.

        Args:
            maker: builds the environment; None for a runner that is empty until :meth:`make`.
            autoreset: what follows the end of an episode.
            seed: seed of the first reset, unless that reset gives one.
        """
        self.env: Env[Any, Any] | None = None if maker is None else maker()
        self._maker = maker or _no_environment
        self._autoreset = autoreset
        self._seed = seed
        self._faults = 0  # since that seed was given
        self._episodes = 0  # the same
        self._episode_seed: int | None = None  # of this episode, or of the order that it is part of
        self._unused = True  # the environment was never reset
        self._phase = RunnerPhase.OVER if maker else RunnerPhase.LOST  # never UNREPORTED
        self.error = ""  # of the last fault
        self._for_good = False
        self._unreported = False  # the fault ended an episode, and no result has said so yet
        self._observation: Any = ""
        self.on_change: Callable[[], object] | None = None
        """Called whenever :attr:`account` may have changed."""

    @classmethod
    def revived(
        cls, maker: Maker, autoreset: AutoresetMode, account: RunnerAccount, error: str, observation: Any
    ) -> EnvRunner:
        """Return a runner in the place of one that died with its process.

        It is lost: if an episode was going on, the next step reports it as truncated. The environment is built when its
        next episode begins.

        Args:
            maker: builds the environment.
            autoreset: as before.
            account: of the runner that died, as :meth:`RunnerAccount.after_loss` returns it.
            error: the reason, type and message.
            observation: the last one that the dead runner returned.
        """
        runner = cls(None, autoreset)
        runner._maker, runner._observation, runner.error = maker, observation, error
        runner._seed, runner._faults, runner._episodes, runner._episode_seed, phase = account
        runner._unreported = phase == RunnerPhase.UNREPORTED
        return runner

    def report_loss(self) -> StepResult:
        """Report the loss as the result of a step that builds nothing."""
        self._unreported = False
        self._changed()
        return self.failed_step()

    @property
    def account(self) -> RunnerAccount:
        """What :meth:`revived` needs."""
        phase = RunnerPhase.UNREPORTED if self._unreported else self._phase
        return RunnerAccount(self._seed, self._faults, self._episodes, self._episode_seed, phase)

    @property
    def lost(self) -> bool:
        """Whether the environment failed and no other has begun an episode yet."""
        return self._phase == RunnerPhase.LOST

    def step(self, action: Any) -> StepResult:
        """Play one turn.

        Raises:
            ResetNeededError, EpisodeFinishedError: without autoreset, outside an episode; and where the environment
                itself raises one.
        """
        if self._phase:
            return self._step_between_episodes()
        try:
            observation, reward, terminated, truncated, info = self.env.step(action)  # type: ignore[union-attr]
            if terminated is not False or truncated is not False or type(reward) is not float or type(info) is not dict:
                reward, terminated, truncated = float(reward), bool(terminated), bool(truncated)
                # A copy: an environment that reuses one dict must not change the last info when it is reset.
                info = dict(info)
            if not isfinite(reward):
                raise InvalidResultError(f"the reward is {reward}")
        except ResetNeededError:
            raise
        except INTERRUPTS:
            raise
        except BaseException as error:
            return self._fault(describe(error))
        if terminated or truncated:
            self._name_seed(info)
            if self._autoreset is AutoresetMode.SAME_STEP:
                return self._roll_over(observation, reward, terminated, truncated, info)
            self._phase = RunnerPhase.OVER
            self._changed()
        self._observation = observation
        return observation, reward, terminated, truncated, info

    def reset(self, arguments: Mapping[str, Any]) -> StepResult:
        """Begin an episode with these arguments of ``Env.reset``; ``seed`` may be among them.

        The result has reward 0.0 and is truncated only if the environment failed.

        Raises:
            ArgumentError, TypeError: from the environment, if it does not accept the arguments besides the seed.
        """
        extra = {name: value for name, value in arguments.items() if name != "seed"}
        observation, info = self._begin(arguments.get("seed"), extra)
        return observation, 0.0, False, self.lost, info

    def make(self, maker: Maker) -> StepResult:
        """Close the environment and build another, which needs a reset.

        Returns:
            An empty observation; truncated, with ``info["error"]``, only if it could not be built.
        """
        with suppress_faults():  # the old one has no further use
            self.close()
        self._maker, self._seed, self._faults, self._for_good = maker, None, 0, False
        self._episodes, self._episode_seed, self._unreported = 0, None, False
        try:
            self.env, self._unused = maker(), True
            check_single_agent(self.env)
        except INTERRUPTS:
            raise
        except BaseException as error:
            self._cannot_begin(error)
            return self.failed_reset()
        self._phase = RunnerPhase.OVER
        self._changed()
        return "", 0.0, False, False, {}

    def keep_maker(self, maker: Maker) -> None:
        """Have later environments built by another maker."""
        self._maker = maker

    def replacement(self, error: str, for_good: bool = False) -> EnvRunner:
        """Return a runner that takes the place of this one and abandons its environment.

        Another thread may be inside this runner; that thread then builds nothing more.

        Args:
            error: the reason, type and message.
            for_good: the new runner builds nothing either; every step and reset reports the error.
        """
        heir = copy(self)
        self._for_good = True
        heir.env, heir._phase, heir.error, heir._for_good = None, RunnerPhase.LOST, error, for_good
        heir._faults += 1
        return heir

    def give_up(self, error: str) -> StepResult:
        """Close the environment as failed, and return the result of its step."""
        self._lose(error)
        return self.failed_step()

    def failed_step(self) -> StepResult:
        """Return the result of a step whose environment was abandoned; nothing is rebuilt yet."""
        info: Info = {"error": self.error}
        self._name_seed(info)
        observation = self._observation
        if self._autoreset is AutoresetMode.SAME_STEP:
            info = {"error": self.error, "final_observation": observation, "final_info": info}
            observation = self._observation = ""
        return observation, 0.0, False, True, info

    def failed_reset(self) -> StepResult:
        """Return the result of a reset whose environment was abandoned; nothing is left to report of its episode."""
        self._unreported = False
        self._changed()
        return "", 0.0, False, True, {"error": self.error}

    def forget_observation(self) -> None:
        """Report an empty observation, should the episode fail: the last one is of no use to the caller."""
        self._observation = ""

    def close(self) -> None:
        """Close the environment; its exceptions are passed on."""
        env, self.env = self.env, None
        self._phase = RunnerPhase.LOST
        if env is not None:
            env.close()

    def _step_between_episodes(self) -> StepResult:
        if self._unreported and self._autoreset is not AutoresetMode.SAME_STEP:
            return self.report_loss()
        if self._autoreset is AutoresetMode.NEXT_STEP:
            observation, info = self._begin()
            return observation, 0.0, False, self.lost, info
        if self._autoreset is AutoresetMode.SAME_STEP and self.lost:
            # The caller acted on an episode that could not begin: it ends here, truncated, without a turn.
            return self._next_after_fault()
        raise EpisodeFinishedError(f"no episode of {self.env!r} is going on; reset it before the next step")

    def _roll_over(self, observation: Any, reward: float, terminated: bool, truncated: bool, info: Info) -> StepResult:
        final = {"final_observation": observation, "final_info": info}
        next_observation, next_info = self._begin()
        return next_observation, reward, terminated, truncated, {**next_info, **final}

    def _fault(self, error: str) -> StepResult:
        self._lose(error)
        return self._next_after_fault() if self._autoreset is AutoresetMode.SAME_STEP else self.failed_step()

    def _next_after_fault(self) -> StepResult:
        final = self.failed_step()[4]
        observation, info = self._begin()
        # If the next episode cannot begin either, "error" describes that fault; final_info has the first.
        return observation, 0.0, False, True, {**final, **info}

    def _begin(self, seed: int | None = None, extra: Mapping[str, Any] | None = None) -> tuple[Any, Info]:
        """Begin an episode, in a new environment if the last one failed; never raises for a fault.

        Args:
            seed: the caller's seed.
            extra: the caller's other arguments of ``Env.reset``; None for an autoreset.
        """
        if self._for_good:
            return "", {"error": self.error}
        if seed is not None:
            self._seed, self._faults, self._episodes = seed, 0, 0
        self._unreported = False
        try:
            if self.env is None:
                self.env, self._unused = self._maker(), True
        except INTERRUPTS:
            raise
        except BaseException as error:
            return self._cannot_begin(error)
        if seed is None:
            seed = self._next_seed(automatic=extra is None)
        in_order = self.env.unwrapped.follows_order and not self._unused
        self._episode_seed = self._episode_seed if seed is None and in_order else seed
        self._unused = False
        self._episodes += 1
        try:
            observation, info = self.env.reset(seed=seed, **(extra or {}))
            info = dict(info)
        except INTERRUPTS:
            raise
        except BaseException as error:
            if extra and isinstance(error, (ArgumentError, TypeError)):
                self._phase = RunnerPhase.OVER
                self._changed()
                raise
            return self._cannot_begin(error)
        self._phase, self._observation = RunnerPhase.PLAYING, observation
        self._changed()
        self._name_seed(info)
        return observation, info

    def _next_seed(self, automatic: bool) -> int | None:
        """Return the seed of an episode to which the caller gave none; None to go on from the generator's state."""
        if self._unused:
            return seed_after(self._seed, "fault", self._faults)
        assert self.env is not None
        if not automatic or self.env.unwrapped.follows_order:
            return None
        return seed_after(self._seed, "episode", self._episodes)

    def _name_seed(self, info: Info) -> None:
        if self._episode_seed is not None and self._autoreset is not AutoresetMode.DISABLED:
            info["seed"] = self._episode_seed

    def _cannot_begin(self, error: BaseException) -> tuple[Any, Info]:
        self._lose(describe(error))
        self._observation, self._episode_seed = "", None
        return "", {"error": self.error}

    def _lose(self, error: str) -> None:
        with suppress_faults():  # the environment has failed already, and that fault is reported
            self.close()
        self._phase, self.error = RunnerPhase.LOST, error
        self._faults += 1
        self._changed()

    def _changed(self) -> None:
        if self.on_change is not None:
            self.on_change()


def check_single_agent(env: Env[Any, Any] | None) -> None:
    """Raise ArgumentError for an environment of several agents, whose steps take and return dicts."""
    if env is not None and hasattr(env.unwrapped, "active_agents"):
        raise ArgumentError(
            f"{env!r} is for several agents, and a vector environment steps one agent each; gem_rollout plays it, or "
            "reset and step it in a loop of its own"
        )


def _no_environment() -> Env[Any, Any]:
    raise NotSupportedError("this member of the vector environment has no environment yet; send_make() one")


def seed_after(seed: int | None, what: str, number: int) -> int | None:
    """Return a seed that follows from the last given one, 32 bits; that one itself for number 0."""
    if seed is None or not number:
        return seed
    return random.Random(f"{what} {number} of {seed}").getrandbits(32)


def describe(error: BaseException) -> str:
    """Return the type and message of an exception as text."""
    try:
        message = str(error)
    except Exception:  # a hostile __str__ must not hide the fault
        message = "(its message cannot be shown)"
    text = f"{type(error).__name__}: {message}"
    return text if len(text) <= _ERROR_LENGTH else text[: _ERROR_LENGTH - 3] + "..."
