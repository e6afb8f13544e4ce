"""The words and frames of the stories, read from the data files beside this module on first use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from gem.tables import read_table
from gem_envs_math.word_problems.grammar import Template, plural, read_template

__all__ = ["WordForms", "frames", "people_names", "priced_goods", "word_list"]


@dataclass(frozen=True)
class WordForms:
    """An entry of a word list: a template for one thing and a template for several."""

    one: Template
    many: Template


@cache
def _data(file: str) -> Mapping[str, Any]:
    data: Mapping[str, Any] = read_table(__file__, f"data/{file}.toml")
    return data


@cache
def frames(file: str, kind: str) -> tuple[Mapping[str, Any], ...]:
    """Return the frames in which a kind of story can be told."""
    found: Any = _data(file)[kind]
    return tuple(found) if isinstance(found, list) else (found,)


@cache
def word_list(name: str) -> tuple[WordForms, ...]:
    """Return a list of words: entries separated by commas, or an array of templates.

    Raises:
        KeyError: if no list has that name.
    """
    found = _data("words")[name]
    if isinstance(found, list):
        return tuple(WordForms(read_template(text), read_template(text)) for text in found)
    return tuple(_entry(text.strip()) for text in found.split(",") if text.strip())


def _entry(text: str) -> WordForms:
    one = " ".join(word.partition("/")[0].replace("*", "") for word in text.split())
    return WordForms((one,), (plural(" ".join(text.split())),))


@lru_cache(maxsize=1)
def people_names() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of women and of men."""
    data = _data("words")
    return tuple(data["women"].replace(",", " ").split()), tuple(data["men"].replace(",", " ").split())


@lru_cache(maxsize=1)
def priced_goods() -> tuple[tuple[str, str, int, int], ...]:
    """Return goods: one, several, the least and the largest usual price in cents."""
    goods = []
    for line in _data("words")["priced"].strip().splitlines():
        noun, low, high = (part.strip() for part in line.rsplit(" ", 2))
        entry = _entry(noun)
        goods.append((str(entry.one[0]), str(entry.many[0]), int(low), int(high)))
    return tuple(goods)
