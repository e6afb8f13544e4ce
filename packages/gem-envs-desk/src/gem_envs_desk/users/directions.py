"""Where a proposal moves something that has a present and a wanted value: :func:`leads_elsewhere`.

Both values of a swap or of a new address are known to the user, so that knowing them is not enough: "from white to
black" is false to a user who wants white.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gem_envs_desk.task import Slot
from gem_envs_desk.users.stated import data_in, occurs, own_choices

__all__ = ["leads_elsewhere"]

_WANTED = " want it in "
"""Separates the variant that a user has from the one that they want."""
_INSTEAD = re.compile(r"\b(?:instead of|in place of|rather than|and not)\b")
_FORMER = re.compile(r"^\W*(?:old|current|previous|original|present|former|from)\b")
_ADDRESS = "street"
_PARTS = (_ADDRESS, "street zip")


def leads_elsewhere(slot: Slot, truth: str, sentences: Sequence[str]) -> bool:
    """Return whether sentences, in lower case, name the values of a slot but end at another than the wanted one."""
    text = " ".join(_forwards(one) for one in sentences if not _FORMER.search(one))
    _, wants, wanted = truth.rpartition(_WANTED)
    if wants:
        return _ends_elsewhere(text, slot.choices, own_choices(slot.choices, wanted))
    own = data_in(truth.casefold())
    if slot.name != "address" or _ADDRESS not in own:
        return False
    stated = data_in(text)
    return any(
        max(stated.get(part, own[part]), key=lambda value: _last(value, text)) not in own[part] for part in _PARTS
    )


def _ends_elsewhere(text: str, choices: Sequence[str], wanted: set[str]) -> bool:
    places = {choice: max(_last(words, text) for words in choice.split("|")) for choice in choices}
    stated = sorted((choice for choice, place in places.items() if place >= 0), key=places.__getitem__)
    return not set(stated) <= wanted and set(stated[-len(wanted) :]) != wanted


def _forwards(text: str) -> str:
    """Return a sentence with what is wanted in the end: "A instead of B" as "B, A"."""
    parts = _INSTEAD.split(text, maxsplit=1)
    return ", ".join(reversed(parts))


def _last(words: str, text: str) -> int:
    """Return the last place of words in a text, or -1."""
    return text.rfind(words) if occurs(words, text) else -1
