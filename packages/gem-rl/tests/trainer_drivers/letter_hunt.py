"""An environment that a model of a few thousand weights can learn, :class:`LetterHunt`, and its reference policy."""

from __future__ import annotations

from typing import Any

from gem.core import Env, Info
from gem.policies import Policy


class LetterHunt(Env[str, str]):
    """Asks for one of three letters, three times; each answer that has it pays a third. It has no random player."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.turn = 0
        return self._ask(), {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        reward = (self.letter in action) / 3
        self.turn += 1
        return self._ask(), reward, self.turn == 3, False, {}

    def _ask(self) -> str:
        self.letter = self.rng.choice("abc")
        return f"say {self.letter}" + " please" * self.rng.randrange(3)


class Speller(Policy[str, str]):
    """Says the letter that is asked for."""

    async def act(self, observation: str, info: Info) -> str:
        """Return the second word."""
        return observation.split()[1]
