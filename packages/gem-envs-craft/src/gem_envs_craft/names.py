"""Invented names of items: a material that does not exist, and a form, such as ``brelnor rod``.

A name says nothing about its item: the same forms stand for what is got, what is crafted and what leads astray. Items
of one world share materials and forms, so that names must be read whole.
"""

from __future__ import annotations

import random

__all__ = ["item_names"]

_ONSETS, _NUCLEI, _MIDDLES, _ENDINGS, _FORMS = map(
    str.split,
    (
        "b br d dr f fl g gl gr h k kl kr l m n p pl pr r s sk st t th tr v w z",
        "a e i o u ae ai ei oa ou",
        "l ln lv m mb n nd nt r rg rv sk st v x zd",
        "ane ath eil enn esk ian ile ion iss ith oan or orn oss oth une urn yl",
        "band bead blade board bolt bowl brick bundle cable chain cloth coil cone cord cup dial disc drum dust fibre "
        "frame gear grain hinge hook horn husk jar lamp lens log mesh nail needle ore paste pin pipe plate pod reed "
        "resin ring rod root sand seed shard sheet shell slab sphere spike spool spring stone strap thread tile tube "
        "valve wax wedge wheel",
    ),
)
_ITEMS_PER_MATERIAL = 3


def item_names(rng: random.Random, count: int) -> list[str]:
    """Return ``count`` different names."""
    materials: dict[str, None] = {}
    while len(materials) * _ITEMS_PER_MATERIAL < count + _ITEMS_PER_MATERIAL:
        materials[_material(rng)] = None
    forms = rng.sample(_FORMS, min(len(_FORMS), len(materials) + _ITEMS_PER_MATERIAL))
    names = [f"{material} {form}" for material in materials for form in forms]
    return rng.sample(names, count)


def _material(rng: random.Random) -> str:
    return rng.choice(_ONSETS) + rng.choice(_NUCLEI) + rng.choice(_MIDDLES) + rng.choice(_ENDINGS)
