"""The two random generators of an environment, and their states as JSON values: :class:`Seeded`."""

from __future__ import annotations

import random
import sys
from array import array
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from gem.arguments import real, seed_value
from gem.errors import StateError

__all__ = ["Seeded"]


class Seeded:
    """The base of classes with a generator for their episodes, and one for the actions that they sample."""

    _rng: random.Random | None = None
    _action_rng: random.Random | None = None
    _action_seed: int | None = None

    @property
    def rng(self) -> random.Random:
        """This environment's own generator, the only source of randomness in its episodes.

        ``reset(seed=…)`` seeds it; before any seed is given, it uses the operating system's entropy.
        """
        if self._rng is None:
            self._rng = random.Random()
        return self._rng

    @property
    def action_rng(self) -> random.Random:
        """The generator of ``sample_random_action``.

        Separate from ``rng``, so that recorded actions replay to the same episodes whether they were
        sampled from the environment or not.
        """
        if self._action_rng is None:
            seed = self._action_seed
            # A str seeds differently from any int, so this stream never coincides with that of ``rng``.
            self._action_rng = random.Random() if seed is None else random.Random(f"actions of {seed}")
        return self._action_rng

    def _seed_generators(self, seed: int) -> None:
        """Seed both generators, and nothing else in the process.

        Raises:
            ArgumentTypeError, ArgumentError: if it is not a seed.
        """
        seed = seed_value(seed)
        if self._rng is None:
            self._rng = random.Random(seed)
        else:
            self._rng.seed(seed)
        self._action_rng, self._action_seed = None, seed

    def generator_state(self) -> dict[str, Any]:
        """Return both generators' states as JSON values: the common part of every ``get_state``."""
        return {"rng": _pack(self.rng), "action_rng": _pack(self.action_rng)}

    def set_generator_state(self, state: Mapping[str, Any]) -> None:
        """Restore the generators from a state that contains the values of :meth:`generator_state`.

        Raises:
            StateError: if they are missing; both generators are then unchanged.
        """
        rng, action_rng = _unpack(state.get("rng")), _unpack(state.get("action_rng"))
        self._rng, self._action_rng = rng, action_rng


def _pack(rng: random.Random) -> dict[str, Any]:
    version, words, gauss = rng.getstate()
    packed = b64encode(_little_endian(array("I", words)).tobytes()).decode()
    return {"version": version, "words": packed, "gauss": gauss}


def _unpack(state: Any) -> random.Random:
    rng = random.Random(0)
    try:
        words = array("I", b64decode(state["words"], validate=True))
        gauss = None if state["gauss"] is None else real("gauss", state["gauss"])  # setstate takes anything
        rng.setstate((state["version"], tuple(_little_endian(words)), gauss))
    except (KeyError, TypeError, ValueError) as error:
        raise StateError(f"not the state of a random generator: {error!r}") from error
    return rng


def _little_endian(words: array[int]) -> array[int]:
    if sys.byteorder == "big":
        words.byteswap()
    return words
