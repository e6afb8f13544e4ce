"""Names that a picture gives to things: three letters, none of which looks like a digit."""

from __future__ import annotations

import random

__all__ = ["name_like", "names"]

_CONSONANTS = "CDFHJKLMNPRTVWXY"
_VOWELS = "AE"


def names(rng: random.Random, count: int) -> list[str]:
    """Return different names of the 512 that there are."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[name_like(rng)] = None
    return list(found)


def name_like(rng: random.Random) -> str:
    """Return any name."""
    return rng.choice(_CONSONANTS) + rng.choice(_VOWELS) + rng.choice(_CONSONANTS)
