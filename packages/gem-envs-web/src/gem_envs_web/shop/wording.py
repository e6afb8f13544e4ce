"""The customers' wishes in words: :func:`instruction`."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from gem.tables import read_table

__all__ = ["instruction"]

_TABLES = read_table(__file__, "wording.json")
_OPENERS: Sequence[str] = _TABLES["openers"]
_PRICES: Sequence[str] = _TABLES["prices"]
_OPTIONS: Sequence[str] = _TABLES["options"]


def instruction(
    rng: random.Random,
    thing: str,
    article: bool,
    plural: bool,
    attributes: Sequence[str],
    options: Mapping[str, str],
    price: float,
) -> str:
    """Return a wish in lower case that names a kind of thing, attributes, options and the highest price in dollars.

    Args:
        rng: chooses the words.
        thing: the kind of thing, such as "office chair".
        article: whether it takes one.
        plural: whether it is many things.
        attributes: at least one.
        options: option → wanted value.
        price: above 0.
    """
    wish = (
        f"{rng.choice(_OPENERS)} {_noun_phrase(rng, thing, article, plural, rng.sample(attributes, len(attributes)))}"
    )
    wanted = rng.sample(list(options.items()), len(options))
    clauses = [rng.choice(_OPTIONS).format(name=name, value=value) for name, value in wanted]
    limit = rng.choice(_PRICES).format(price=price)
    clauses.insert(len(clauses) if rng.random() < 0.6 else 0, limit)
    return ", ".join((wish, *clauses))


def _noun_phrase(rng: random.Random, thing: str, article: bool, plural: bool, attributes: Sequence[str]) -> str:
    be, pronoun = ("are", "they") if plural else ("is", "it")
    shape = rng.randrange(5)
    if shape == 0:
        return _with_article(f"{', '.join(attributes)} {thing}", article)
    if shape == 1:
        return f"{_with_article(thing, article)} that {be} {_listed(attributes)}"
    if shape == 2:
        first, *others = attributes
        rest = f" that {be} also {_listed(others)}" if others else ""
        return f"{_with_article(f'{first} {thing}', article)}{rest}"
    if shape == 3:
        return f"{_with_article(thing, article)}, {_listed(attributes)}"
    return f"{_with_article(thing, article)}; {pronoun} must be {_listed(attributes)}"


def _with_article(phrase: str, article: bool) -> str:
    if not article:
        return phrase
    # By sound, not by letter: a usb microphone, a uv protective hat, an rfid blocking wallet.
    vowel = phrase.startswith(("a", "e", "i", "o", "rfid")) or (phrase[0] == "u" and phrase[:2] not in ("us", "uv"))
    return f"an {phrase}" if vowel else f"a {phrase}"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
