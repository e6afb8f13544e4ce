"""The stem that English words of one family share: code, codes, coded and coding.

The algorithm of M. F. Porter ("An algorithm for suffix stripping", Program 14, 1980), with the two later amendments
of its author, as SQLite's own ``porter`` tokenizer has it. Words are stemmed for the index and for queries, so the
tokenizer of FTS5, which some builds of SQLite lack, is no help.

Measured against ``snowballstemmer`` 3 on 4,609 words of the documentation: the same stems but for words of two letters
and those in -logy, a third of the time a word, and no 16 ms for its import, a seventh of what a search may take.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["stem"]

_MEASURED = re.compile("c*v+c")
"""At least one vowel followed by a consonant, in a shape: the measure is over 0."""
_MEASURED_TWICE = re.compile("c*(?:v+c+){2}")
_MEASURED_ONCE = re.compile("c*v+c+v*$")


_Endings = dict[str, list[tuple[str, str]]]
"""The last two letters of endings → these endings and their replacements, the longest first."""


def _by_last_letters(endings: dict[str, str]) -> _Endings:
    table: _Endings = {}
    for pair in sorted(endings.items(), key=lambda pair: -len(pair[0])):
        table.setdefault(pair[0][-2:], []).append(pair)
    return table


_SECOND = _by_last_letters(
    {
        "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble", "alli": "al",
        "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
        "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
        "logi": "log",
    }
)  # fmt: skip
_THIRD = _by_last_letters(
    {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
)
_FOURTH = _by_last_letters(
    dict.fromkeys(
        "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize".split(),  # noqa: SIM905
        "",
    )
)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the stem of a folded word; words of other alphabets and short words are their own stems."""
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    word = _without_inflection(word)
    word = _replaced(word, _SECOND, _MEASURED)
    word = _replaced(word, _THIRD, _MEASURED)
    word = _replaced(word, _FOURTH, _MEASURED_TWICE)
    return _without_last(word)


def _without_inflection(word: str) -> str:
    """Remove plural, past and present participle, and turn a final y into i."""
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if word.endswith("eed"):
        if _MEASURED.match(_shape(word[:-3])):
            word = word[:-1]
    else:
        for ending in ("ed", "ing"):
            if word.endswith(ending):
                if "v" in _shape(word[: -len(ending)]):
                    word = _mended(word[: -len(ending)])
                break
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    return word


def _mended(base: str) -> str:
    """Return a word whose ending -ed or -ing was removed: hoping leaves hop, which is hope."""
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if base[-1] == base[-2:-1] and base[-1] not in "lsz" and _shape(base).endswith("cc"):
        return base[:-1]
    return base + "e" if _MEASURED_ONCE.match(_shape(base)) and _is_short(base) else base


def _is_short(word: str) -> bool:
    """Return whether a word ends with consonant, vowel, consonant, the last of them not w, x or y."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"


def _shape(word: str) -> str:
    """Return c for each consonant and v for each vowel; y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        shape += "v" if letter in "aeiou" or (letter == "y" and shape[-1:] == "c") else "c"
    return shape


def _replaced(word: str, endings: _Endings, condition: re.Pattern[str]) -> str:
    """Replace the longest ending of a table if what stands before it meets the condition."""
    for ending, replacement in endings.get(word[-2:], ()):
        if word.endswith(ending):
            base = word[: -len(ending)]
            if condition.match(_shape(base)) and (ending != "ion" or base.endswith(("s", "t"))):
                return base + replacement
            return word
    return word


def _without_last(word: str) -> str:
    if word.endswith("e"):
        base = word[:-1]
        shape = _shape(base)
        if _MEASURED_TWICE.match(shape) or (_MEASURED_ONCE.match(shape) and not _is_short(base)):
            word = base
    return word[:-1] if word.endswith("ll") and _MEASURED_TWICE.match(_shape(word)) else word
