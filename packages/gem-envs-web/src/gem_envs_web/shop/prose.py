"""The texts of the generated shop's products: brands, names, bullets, descriptions and reviews.

Besides the attributes that it is given, no text contains an attribute of :mod:`gem_envs_web.shop.goods`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from gem.tables import read_table
from gem_envs_web.shop.goods import GoodsType
from gem_envs_web.shop.listing import ProductReview

__all__ = ["brand", "bullets", "description", "reviews", "title", "titled"]

_STARTS = "Al Bel Cor Dov El Fen Gal Hal Isk Jor Kel Lum Mar Nor Or Pel Quin Rav Sel Tor Ul Vel Wyn Yar Zan"
_MIDDLES = "a e i o u an en in or ar el il ov ev"
_ENDS = "dale mont va ris ton ex ora ique wick line tek nia mar ford ano bri cke ster vio zen"
_TABLES = read_table(__file__, "prose.json")
_FRAMES: Sequence[str] = _TABLES["frames"]
_BULLETS: Sequence[str] = _TABLES["bullets"]
_OPENINGS: Sequence[str] = _TABLES["openings"]
_MIDDLE_SENTENCES: Sequence[str] = _TABLES["middle_sentences"]
_CLOSINGS: Sequence[str] = _TABLES["closings"]
_REVIEW_TITLES = {
    1: ("Not for me", "Sent it back", "Disappointed"),
    2: ("Expected more", "So so", "Meh"),
    3: ("Does the job", "Average", "Okay for the price"),
    4: ("Good buy", "Nearly perfect", "Happy so far"),
    5: ("Love it", "Would buy again", "Better than hoped"),
}
_REVIEW_BODIES: Sequence[str] = _TABLES["review_bodies"]
_CLAIMS: Sequence[str] = _TABLES["claims"]
_INITIALS = {name.lower(): name for name in ("BPA", "GMO", "PFOA", "pH", "RFID", "STEM", "USB", "USDA", "UV")}
"""Words of the goods that are not written in small letters."""


def brand(rng: random.Random) -> str:
    """Return an invented brand."""
    return f"{rng.choice(_STARTS.split())}{rng.choice(_MIDDLES.split())}{rng.choice(_ENDS.split())}"


def title(rng: random.Random, kind: GoodsType, maker: str, attribute: str) -> str:
    """Return the name of a product, with one of its attributes."""
    model = f"{rng.choice('ABCDEFGHKLMNPRSTVWX')}{rng.randrange(10, 1000)}"
    return rng.choice(_FRAMES).format(brand=maker, kind=titled(kind.name), attribute=titled(attribute), model=model)


def bullets(rng: random.Random, kind: GoodsType, attributes: Sequence[str]) -> tuple[str, ...]:
    """Return the features: a line for each attribute, each in other words."""
    frames = rng.sample(_BULLETS, len(attributes))
    return tuple(_filled(frame, kind, "", attribute) for frame, attribute in zip(frames, attributes, strict=True))


def description(rng: random.Random, kind: GoodsType, maker: str, attribute: str) -> str:
    """Return a description of three sentences that states an attribute."""
    frames = (rng.choice(_OPENINGS), rng.choice(_MIDDLE_SENTENCES), rng.choice(_CLOSINGS))
    return " ".join(_filled(frame, kind, maker, attribute) for frame in frames)


def reviews(rng: random.Random, kind: GoodsType, missing: Sequence[str]) -> tuple[ProductReview, ...]:
    """Return two to four reviews. Half of them mention an attribute that the product lacks, one of ``missing``."""
    return tuple(_review(rng, kind, body, missing) for body in rng.sample(_REVIEW_BODIES, rng.randint(2, 4)))


def _review(rng: random.Random, kind: GoodsType, body: str, missing: Sequence[str]) -> ProductReview:
    score = rng.choice((1, 2, 3, 4, 4, 5, 5, 5))
    if rng.random() < 0.5:
        body, attribute = f"{body} {rng.choice(_CLAIMS)}", rng.choice(missing)
    else:
        attribute = ""
    return ProductReview(rng.choice(_REVIEW_TITLES[score]), score, _filled(body, kind, "", attribute))


def _filled(frame: str, kind: GoodsType, maker: str, attribute: str) -> str:
    it = ("they", "them", "are") if kind.plural else ("it", "it", "is")
    return frame.format(
        kind=_spelled(kind.name),
        kinds=_spelled(kind.name if kind.plural or kind.mass else _plural(kind.name)),
        brand=maker,
        attribute=_spelled(attribute),
        attribute_=_sentence_start(_spelled(attribute)),
        it=it[0],
        It=it[0].capitalize(),
        it_=it[1],
        is_=it[2],
    )


def titled(words: str) -> str:
    """Return words of the goods as a heading has them, such as "RFID Blocking"."""
    return " ".join(_INITIALS.get(word, word.title()) for word in words.split())


def _spelled(words: str) -> str:
    return " ".join(_INITIALS.get(word, word) for word in words.split())


def _sentence_start(words: str) -> str:
    return words if words.startswith(tuple(_INITIALS.values())) else f"{words[:1].upper()}{words[1:]}"


def _plural(name: str) -> str:
    if name.endswith(("ch", "sh", "x", "ss")):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") and name[-2] not in "aeiou" else f"{name}s"
