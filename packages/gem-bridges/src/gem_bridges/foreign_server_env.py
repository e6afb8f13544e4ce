"""Environments that run in a server of another framework."""

from __future__ import annotations

import math
from abc import ABC

from gem.arguments import integer, real
from gem_bridges.errors import BridgeError
from gem_bridges.foreign_env import ForeignEnv

__all__ = ["ForeignServerEnv", "reward_of"]


class ForeignServerEnv(ForeignEnv, ABC):
    """An environment that runs in a server of another framework.

    The server decides whether an episode is a function of its seed; the bridge passes the seed on, and passes a seed
    drawn from its own generator where the caller gives none. A state that could be restored exists in none of these
    protocols, so ``get_state`` and ``set_state`` are not supported.

    Attributes:
        vector_mode: the mode that fits best: steps wait for a server.
    """

    vector_mode = "thread"

    def __init__(self, max_turns: int, timeout: float, max_answer_bytes: int) -> None:
        """Check the arguments that all these bridges have.

        Args:
            max_turns: turns after which an episode is truncated.
            timeout: seconds that the server may take for one answer.
            max_answer_bytes: size of the largest answer that is read.
        """
        super().__init__(max_turns)
        self.timeout = real("timeout", timeout, minimum=0.01)
        self.max_answer_bytes = integer("max_answer_bytes", max_answer_bytes, minimum=1024)


def reward_of(value: object) -> float:
    """Return a reward as a float; 0.0 for none.

    Raises:
        BridgeError: if it is no finite number.
    """
    if value is None:
        return 0.0
    try:
        reward = float(value) if isinstance(value, (int, float)) else math.nan
    except OverflowError:
        reward = math.inf
    if not math.isfinite(reward):
        raise BridgeError(f"the server sent the reward {value!r:.80}, which is no finite number")
    return reward
