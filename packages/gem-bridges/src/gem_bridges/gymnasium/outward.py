"""An environment of GEM as one of Gymnasium, for libraries that take those. Importing this module imports Gymnasium."""

from __future__ import annotations

import string
from typing import Any

import gem
from gem.discovery.official import install_line
from gem.errors import ResetNeededError

try:
    import gymnasium
except ModuleNotFoundError as error:
    line = install_line("'gem-bridges[gymnasium]'")
    message = f"environments of GEM in Gymnasium need Gymnasium; run: {line}"
    raise ModuleNotFoundError(message, name="gymnasium") from error

__all__ = ["GemAsGymnasium"]

_LONGEST = 10**6


class GemAsGymnasium(gymnasium.Env[str, str]):
    """An id of GEM with Gymnasium's interface: observations and actions are texts.

    Args:
        env_id: the id.
        kwargs: arguments of ``gem.make``.
    """

    def __init__(self, env_id: str, **kwargs: Any) -> None:
        self.env = gem.make(env_id, **kwargs)
        characters = frozenset(string.printable) | frozenset(map(chr, range(160, 0x3000)))
        self.observation_space = gymnasium.spaces.Text(_LONGEST, min_length=0, charset=characters)
        self.action_space = _ActionTexts(self)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        return self.env.reset(seed) if options is None else self.env.reset(seed, options)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Play one turn."""
        return self.env.step(action)

    def close(self) -> None:
        """Close the environment."""
        self.env.close()


class _ActionTexts(gymnasium.spaces.Text):
    """All texts; a sample is a well-formed action of the environment, once it has begun."""

    def __init__(self, owner: GemAsGymnasium) -> None:
        super().__init__(_LONGEST, min_length=0, charset=string.printable)
        self._owner = owner

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        try:
            return str(self._owner.env.sample_random_action())
        except ResetNeededError:
            return ""
