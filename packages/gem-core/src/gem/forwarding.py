"""What a wrapper passes on to its environment unchanged: :class:`Forwarding`."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

__all__ = ["Forwarding"]


class Forwarding:
    """The base of classes that stand for the environment in their attribute ``env``.

    Reading a missing attribute reads that of ``env`` at that moment.
    """

    env: Any

    def __getattr__(self, name: str) -> Any:
        # Without the guard, unpickling would recurse endlessly in search of ``env``.
        if name.startswith("_") or name == "env":
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self.env, name)

    @property
    def rng(self) -> random.Random:
        rng: random.Random = self.env.rng
        return rng

    @property
    def action_rng(self) -> random.Random:
        rng: random.Random = self.env.action_rng
        return rng

    @property
    def unwrapped(self) -> Any:
        return self.env.unwrapped

    def sample_random_action(self) -> Any:
        return self.env.sample_random_action()

    def generator_state(self) -> dict[str, Any]:
        state: dict[str, Any] = self.env.generator_state()
        return state

    def set_generator_state(self, state: Mapping[str, Any]) -> None:
        self.env.set_generator_state(state)

    def close(self) -> None:
        self.env.close()
