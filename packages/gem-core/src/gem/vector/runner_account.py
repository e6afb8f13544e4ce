"""The account of an environment's runner, which outlives the process of the runner: :class:`RunnerAccount`."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

__all__ = ["RunnerAccount", "RunnerPhase"]


class RunnerPhase(IntEnum):
    """Where a runner's environment is; integers, since accounts also travel as JSON."""

    PLAYING = 0
    """Within an episode."""

    OVER = 1
    """Between episodes."""

    LOST = 2
    """It has failed and is closed."""

    UNREPORTED = 3
    """In accounts alone: so it has, and no result has told the caller that its episode is over."""


class RunnerAccount(NamedTuple):
    """What an :class:`EnvRunner` in another process needs to take the place of one that died with its process."""

    seed: int | None
    """The last given one."""
    faults: int
    """Since that seed was given."""
    episodes: int
    """The same."""
    episode_seed: int | None
    phase: int
    """A :class:`RunnerPhase`."""

    @classmethod
    def first(cls, seed: int | None) -> RunnerAccount:
        """Return the account of a runner whose environment was never reset."""
        return cls(seed, 0, 0, None, RunnerPhase.OVER)

    def plain(self) -> tuple[int | None, ...]:
        """Return the values as built-in objects: ``marshal`` writes no others, and ``pickle`` them ten times faster."""
        return (*self[:-1], int(self.phase))

    @property
    def is_lost(self) -> bool:
        """Whether the environment has failed and no other has begun an episode yet."""
        return self.phase in (RunnerPhase.LOST, RunnerPhase.UNREPORTED)

    @property
    def is_playing(self) -> bool:
        """Whether the environment is within an episode."""
        return self.phase == RunnerPhase.PLAYING

    def after_loss(self) -> RunnerAccount:
        """Return the account of a runner that died with its process, whose last known account is this one."""
        faults = self.faults
        if self.phase != RunnerPhase.OVER or self.episodes:  # one that was never reset has lost nothing
            faults += 1
        unreported = self.phase in (RunnerPhase.PLAYING, RunnerPhase.UNREPORTED)
        return self._replace(faults=faults, phase=RunnerPhase.UNREPORTED if unreported else RunnerPhase.LOST)
