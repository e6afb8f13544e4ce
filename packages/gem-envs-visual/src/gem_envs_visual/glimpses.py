"""A bounded reader: the reference policy of a task, with a part of every picture hidden from it."""

from __future__ import annotations

import random
from typing import Any

from gem.arguments import real
from gem.core import Env, Info, Observation
from gem.policies import Policy, make_policy
from gem_envs_visual.reading import look
from gem_questions.pictures.canvas import PALETTE, colour
from gem_questions.pictures.png import encode, picture_part

__all__ = ["GlimpsePolicy"]

_TILE = 20
"""Pixels of the side of a tile that is seen or hidden as a whole."""


class GlimpsePolicy(Policy[Observation, Any]):
    """Overlooks a share of each picture, another one at each look, and guesses where the rest makes no sense to it.

    It tells how much of a picture a task needs: the more there is to see, the more it loses.

    Args:
        env: the environment that it plays in, whose manifest names a reference policy.
        hidden: the share of the picture that it overlooks, 0 … 1.
    """

    def __init__(self, env: Env[Any, Any], hidden: float = 0.02) -> None:
        self.env = env
        self.hidden = real("hidden", hidden, minimum=0.0, maximum=1.0)
        self._reader = make_policy("reference", env)
        self._rng = random.Random(0)

    def seed_episode(self, seed: int, repetition: int) -> None:
        """Derive what it overlooks from the key of the episode."""
        self._rng.seed(f"glimpses of {seed}, repetition {repetition}")

    def reset(self, observation: Observation, info: Info) -> None:
        self._reader.reset(observation, info)

    def act(self, observation: Observation, info: Info) -> Any:
        try:
            return self._reader.act(self._overlooked(observation), info) or self.env.sample_random_action()
        except Exception:  # a reader may stumble in any way over a picture with holes
            return self.env.sample_random_action()

    def _overlooked(self, observation: Observation) -> Observation:
        picture, text = look(observation)
        rows = [bytearray(row) for row in picture.rows]
        width, blank = len(rows[0]), colour("white")
        for top in range(0, len(rows), _TILE):
            for left in range(0, width, _TILE):
                if self._rng.random() < self.hidden:
                    for row in rows[top : top + _TILE]:
                        row[left : left + _TILE] = bytes([blank]) * len(row[left : left + _TILE])
        return [picture_part(encode(b"".join(rows), width, PALETTE)), {"type": "text", "text": text}]
