"""The seed that an environment was made with: :class:`FirstSeed`."""

from __future__ import annotations

from typing import Any

from gem.arguments import boolean, seed_value
from gem.core import Env, Info, Wrapper

__all__ = ["FirstSeed"]


class FirstSeed(Wrapper[Any, Any]):
    """Seeds the first reset if it brings no seed itself; ``gem.make(id, seed=…)`` applies it.

    Args:
        env: the environment.
        seed: any non-negative int.
    """

    def __init__(self, env: Env[Any, Any], seed: int) -> None:
        super().__init__(env)
        self._seed = seed_value(seed)
        self._used = False

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        if seed is None and not self._used:
            seed = self._seed
        result = super().reset(seed=seed, options=options)
        self._used = True
        return result

    def _own_state(self) -> Info:
        return {"used": self._used}

    def _set_own_state(self, state: Info) -> None:
        self._used = boolean("used", state["used"])
