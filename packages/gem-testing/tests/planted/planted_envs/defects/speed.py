"""Environments that are slower than their manifest declares."""

from __future__ import annotations

import time
from typing import Any

from gem.core import Info
from planted_envs.healthy import Sums


class SlowStep(Sums):
    """Its step 10 takes longer than the declared seconds."""

    def _draw(self) -> list[int]:
        if self._turn == 10:
            time.sleep(0.02)
        return super()._draw()


class SlowReset(Sums):
    """Its reset takes longer than the declared seconds for some seeds."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        if seed == 3:
            time.sleep(0.06)
        return super().reset(seed=seed, options=options)
