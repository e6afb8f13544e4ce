"""Invented words, of which none says anything about what it names."""

from __future__ import annotations

import random

__all__ = ["invented_words"]

_ONSETS, _NUCLEI, _MIDDLES, _ENDINGS = map(
    str.split,
    (
        "b br d dr f fl g gl gr h j k kl kr l m n p pl pr r s sk st t th tr v w y z",
        "a e i o u ae ai ei oa ou",
        "b d l ln lv m mb n nd nt r rg rv sk st t v x zd",
        "ane ath eil enn esk ian ile ion iss ith oan or orn oss oth une urn yl",
    ),
)


def invented_words(rng: random.Random, count: int) -> list[str]:
    """Return ``count`` different words of lower-case letters."""
    words: dict[str, None] = {}
    while len(words) < count:
        words[rng.choice(_ONSETS) + rng.choice(_NUCLEI) + rng.choice(_MIDDLES) + rng.choice(_ENDINGS)] = None
    return list(words)
