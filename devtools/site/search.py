"""Writes what the site's search knows of the guides: the index of ``gem guide QUESTION``, as a script for a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from devtools.site.navigation import page_of
from gem_cli.guide import index_of, pages
from gem_cli.guide_search import ABOUT_THE_PROJECT, BACKGROUND, MEANINGS, OF_MEANING, Weights
from gem_hub_client.query_terms import MOST_TEXT, MOST_TYPED, MOST_WORDS, STOP_WORDS
from gem_hub_client.stem import stem
from gem_hub_client.tokenize import tokenize

__all__ = ["FILE", "search_script"]

FILE = "guide_index.js"


def search_script() -> str:
    """Return the script, which sets ``GUIDES``: pages, and what each word adds to the score of each text."""
    found = pages()
    index = index_of(found)
    number = {name: place for place, name in enumerate(index.names)}
    texts = (path.read_text(encoding="utf-8") for path in found.values())
    words = {word for text in texts for word in tokenize(text)} | set(MEANINGS)
    stems = {word: stem(word) for word in sorted(words)}
    known: dict[str, Any] = {
        "pages": [[_page(found[name]), title] for name, title in zip(index.names, index.titles, strict=True)],
        "sections": [[number[section.page], section.heading] for section in index.sections],
        "asked": [number[page] for page in index.asked],
        "counts": [BACKGROUND if name in ABOUT_THE_PROJECT else 1 for name in index.names],
        "limits": [MOST_TEXT, MOST_TYPED, MOST_WORDS],
        "stop": sorted(STOP_WORDS),
        "meant": OF_MEANING,
        "stems": {word: root for word, root in stems.items() if word != root},
        "meanings": {word: [stem(item) for item in meaning.split()] for word, meaning in MEANINGS.items()},
        "tables": [_table(table) for table in (index.by_page, index.by_section, index.by_question)],
    }
    return f"const GUIDES = {json.dumps(known, separators=(',', ':'), sort_keys=True)};\n"


def _page(path: Path) -> str:
    return page_of(f"docs/guides/{path.name}" if path.parent.name == "guides" else f"docs/{path.name}")


def _table(table: Weights) -> dict[str, list[float]]:
    """Return stem → number of a text and its weight, one after another."""
    return {
        word: [value for number, weight in texts.items() for value in (number, round(weight, 3))]
        for word, texts in table.items()
    }
