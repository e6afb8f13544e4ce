"""An environment of an actor as its driver sees it: :class:`ActorEnv`."""

from __future__ import annotations

from typing import Any, NamedTuple

from gem.vector.env_runner import AutoresetMode, EnvRunner, Maker, StepResult
from gem.vector.runner_account import RunnerAccount

__all__ = ["ActorEnv", "EnvCommand", "EnvLoss"]


class EnvCommand(NamedTuple):
    """A command for one environment of an actor."""

    kind: str
    """``"step"``, ``"reset"`` or ``"make"``: a method of :class:`gem.vector.env_runner.EnvRunner`."""
    argument: Any
    """An action, the arguments of the reset, or a maker."""
    again: bool = False
    """Whether another actor was lost with this command."""


class EnvLoss(NamedTuple):
    """What another actor has to know of an environment to take its place; see ``EnvRunner.revived``."""

    account: RunnerAccount
    error: str
    observation: Any


class ActorEnv:
    """What the driver knows of one environment of an actor: enough to go on when the actor is lost.

    The runner in the actor decides everything. The driver keeps the account that the runner sent last.

    Args:
        maker: builds the environment; None for a member without one.
        autoreset: what follows the end of an episode.
        seed: of the first reset, unless that gives one.
    """

    __slots__ = ("_autoreset", "_observation", "account", "lost", "maker", "seed")

    def __init__(self, maker: Maker | None, autoreset: AutoresetMode, seed: int | None) -> None:
        self.maker = maker
        """What the next actor makes."""
        self.seed = seed
        self.account = RunnerAccount.first(seed)
        self.lost: EnvLoss | None = None
        """What the next actor has to know; None if it makes the environment at once, as the first one did."""
        self._autoreset = autoreset
        self._observation: Any = ""

    @property
    def playing(self) -> bool:
        """Whether an episode is in play."""
        return self.account.is_playing

    def make(self, maker: Maker) -> EnvCommand:
        """Return the command that puts another environment in the place of this one."""
        self.__init__(maker, self._autoreset, None)  # type: ignore[misc]
        # Should the actor be lost with the command, it is the command that makes the environment, not the next actor.
        self.lost = EnvLoss(self.account.after_loss(), "it was never made", "")
        return EnvCommand("make", maker)

    def received(self, result: StepResult | BaseException) -> None:
        """Take note of a result."""
        if isinstance(result, tuple):
            self._observation = result[0]

    def lose(self, pending: EnvCommand | None, error: str) -> StepResult | EnvCommand | None:
        """Take note that the actor is lost.

        Args:
            pending: the command that was sent to it and has no result.
            error: the reason, type and message.

        Returns:
            The result of the pending command, or the command for another actor to carry out; None if there is none.
        """
        if self.maker is None:
            return pending
        playing, rebuilding = self.playing, self.account.is_lost
        account = self.account.after_loss()
        runner = EnvRunner.revived(self.maker, self._autoreset, account, error, self._observation)
        result: StepResult | EnvCommand | None = pending
        # An episode that kills its actor as it begins must not do so forever.
        if pending is None:
            pass
        elif (
            pending.kind != "step"
        ):  # the actor may have been dead before it was given the command: that is tried twice
            result = runner.failed_reset() if pending.again else pending._replace(again=True)
        elif rebuilding or (playing and self._autoreset is not AutoresetMode.SAME_STEP):
            result = runner.report_loss()
        if isinstance(result, tuple) and not isinstance(result, EnvCommand):
            self._observation = result[0]
        self.account = runner.account
        self.lost = EnvLoss(self.account, error, self._observation)
        return result
