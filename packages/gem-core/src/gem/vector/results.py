"""Joining the results of several environments; NumPy loads here, with the first result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gem.core import Info
from gem.vector.env_runner import StepResult

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Flags = npt.NDArray[np.bool_]

__all__ = ["Ready", "stack"]


class Ready(NamedTuple):
    """The return value of ``recv``: the ready environments, in the order in which they became ready.

    The result of a reset has reward 0.0 and false flags (truncated, with ``info["error"]``, if it failed).
    """

    indices: list[int]
    observations: list[Any]
    rewards: Floats
    terminations: Flags
    truncations: Flags
    infos: list[Info]


def stack(results: Sequence[StepResult]) -> tuple[list[Any], Floats, Flags, Flags, list[Info]]:
    """Return observations (list), rewards (float64), terminations, truncations (bool) and infos (list)."""
    import numpy as np

    observations, rewards, terminations, truncations, infos = zip(*results, strict=True) if results else ((),) * 5
    return (
        list(observations),
        np.array(rewards, dtype=np.float64),
        np.array(terminations, dtype=np.bool_),
        np.array(truncations, dtype=np.bool_),
        list(infos),
    )
