"""What the driver knows about one environment of an actor: enough to go on when the actor is lost."""

from __future__ import annotations

import random
from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

from gem.core import Info
from gem.vector.env_runner import AutoresetMode, Maker, StepResult

__all__ = ["EnvCommand", "EpisodeAccount"]


class EnvCommand(NamedTuple):
    """A command for one environment of an actor."""

    kind: str
    """``"step"``, ``"reset"`` or ``"make"``: a method of :class:`gem.vector.env_runner.EnvRunner`."""
    argument: Any
    """An action, the arguments of the reset, or a maker."""
    ends_lost_episode: bool = False
    """Whether the result of this reset completes a step whose episode was lost."""


class _Phase(Enum):
    UNUSED = 0
    """The environment in the actor was never reset, and the caller knows of no episode in play."""
    PLAYING = 1
    OVER = 2
    """Finished, where the same step does not begin the next episode."""
    LOST = 3
    """The episode in play is lost, and the caller has not learned of it."""


class EpisodeAccount:
    """Keeps account of one environment: its seed, its faults, its last observation.

    While its actor lives, commands and results pass through unchanged. When the actor is lost, its successor holds a
    new environment that was never reset. The caller then gets what :class:`gem.vector.env_runner.EnvRunner` gives
    after a fault: the lost episode ends truncated, with ``info["error"]``, and the next one has a seed that follows
    from the last given one and the number of faults since.
    """

    __slots__ = ("_autoreset", "_episode_seed", "_error", "_faults", "_observation", "_phase", "_seed", "maker")

    def __init__(self, maker: Maker | None, autoreset: AutoresetMode, seed: int | None) -> None:
        self.maker = maker
        """What a successor of the actor makes; None for a member without an environment."""
        self._autoreset = autoreset
        self._seed = seed
        self._faults = 0
        self._phase = _Phase.UNUSED
        self._observation: Any = ""
        self._episode_seed: int | None = None
        self._error = ""

    @property
    def playing(self) -> bool:
        """Whether an episode is in play."""
        return self._phase is _Phase.PLAYING

    def step(self, action: Any) -> EnvCommand | StepResult:
        """Return the command that plays a turn, or its result where that is known already."""
        if self._phase is _Phase.LOST:
            if self._autoreset is AutoresetMode.SAME_STEP:
                return self._next_episode(ends_lost_episode=True)
            self._phase = _Phase.UNUSED
            return self._failed_step()
        if self._phase is _Phase.UNUSED:
            return self._next_episode()
        return EnvCommand("step", action)

    def reset(self, arguments: Mapping[str, Any]) -> EnvCommand:
        """Return the command that begins an episode."""
        if arguments.get("seed") is not None:
            self._seed, self._faults = arguments["seed"], 0
        elif self._phase in (_Phase.UNUSED, _Phase.LOST):
            return EnvCommand("reset", {**arguments, "seed": self._next_seed()})
        return EnvCommand("reset", arguments)

    def make(self, maker: Maker) -> EnvCommand:
        """Return the command that puts another environment in the place of this one."""
        self.__init__(maker, self._autoreset, None)  # type: ignore[misc]
        return EnvCommand("make", maker)

    def received(self, command: EnvCommand, result: StepResult) -> StepResult:
        """Take note of a result, and return what the caller gets."""
        observation, _, terminated, truncated, info = result
        if command.kind == "make":
            return result
        if command.kind == "reset":
            if command.ends_lost_episode:
                result = observation, 0.0, False, True, {**self._failed_step()[4], **info}
            self._begun(observation, info)
            self._faults += truncated
            return result
        if "error" in info:
            self._faults += 1
        if not (terminated or truncated):
            if self._phase is _Phase.OVER:
                self._begun(observation, info)
            self._observation = observation
        elif self._autoreset is AutoresetMode.SAME_STEP:
            self._begun(observation, info)
        else:
            self._phase, self._observation = _Phase.OVER, observation
        return result

    def lost(self, command: EnvCommand | None, error: str) -> EnvCommand | StepResult | None:
        """Take note that the actor is lost, together with the pending command.

        Returns:
            The command to give to the actor's successor in place of the pending one, or its result; None without a
            pending command.
        """
        self._faults += 1
        was, self._error = self._phase, error
        if was is not _Phase.LOST:
            self._phase = _Phase.LOST if was is _Phase.PLAYING else _Phase.UNUSED
        if command is None:
            return None
        if command.kind == "make":
            self.maker = None  # it may be what killed the actor
            return self._failed_reset()
        if command.kind == "step":
            return self.step(command.argument)
        if self._autoreset is AutoresetMode.SAME_STEP:
            self._phase = _Phase.LOST  # the next step tries again
        # An episode that kills its actor as it begins must not do so forever: each call tries once.
        return ("", 0.0, False, True, self._failed_step()[4]) if command.ends_lost_episode else self._failed_reset()

    def _next_episode(self, ends_lost_episode: bool = False) -> EnvCommand:
        return EnvCommand("reset", {"seed": self._next_seed()}, ends_lost_episode)

    def _next_seed(self) -> int | None:
        if self._seed is None or not self._faults:
            return self._seed
        return random.Random(f"fault {self._faults} of {self._seed}").getrandbits(32)

    def _begun(self, observation: Any, info: Info) -> None:
        self._phase, self._observation, self._episode_seed = _Phase.PLAYING, observation, info.get("seed")

    def _failed_step(self) -> StepResult:
        info: Info = {"error": self._error}
        if self._episode_seed is not None and self._autoreset is not AutoresetMode.DISABLED:
            info["seed"] = self._episode_seed
        if self._autoreset is AutoresetMode.SAME_STEP:
            final = {"final_observation": self._observation, "final_info": info}
            return "", 0.0, False, True, {"error": self._error, **final}
        return self._observation, 0.0, False, True, info

    def _failed_reset(self) -> StepResult:
        return "", 0.0, False, True, {"error": self._error}
