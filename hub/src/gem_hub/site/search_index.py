"""The browser's search index: for each word its packages with their weights, and what words mean.

The weights, stems and meanings are those of :mod:`gem_hub_client.search`, so that the browser and the command line rank
alike, with four differences: the browser ranks all packages of its index and not only those that FTS5 proposes; it does
not ask whether one environment of a package has all words; it finds a synonym of several words also where a package has
them in different fields; and on a large hub it loads only the first few synonyms of a word. A small index is one file.
A larger hub gets a file for the words with the same two first characters, and one for each few packages, so that a
query loads only the necessary files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from gem.ids import parse_id
from gem_hub.site.views import Listing
from gem_hub_client.catalogue import tag_words
from gem_hub_client.lexicon import all_meanings
from gem_hub_client.names import short_name
from gem_hub_client.search import untested
from gem_hub_client.tokenize import tokenize

__all__ = ["ONE_FILE", "search_files"]

ONE_FILE = 1_000_000
"""The size limit of an index in one file in bytes; the server compresses it to about a quarter."""

BLOCK = 64
"""The number of packages in one file of a large index."""

_NAMES, _IDS, _TAGS, _SUMMARY, _DESCRIPTION = 10.0, 8.0, 4.0, 2.0, 1.0
_MOST_ENVIRONMENTS = 100

Postings = dict[str, list[int]]
"""Word → package number, weight times ten, package number, …"""


def search_files(listings: Iterable[Listing]) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of each file that the search script reads."""
    packages: list[dict[str, Any]] = []
    found: Postings = {}
    exact: Postings = {}
    for number, listing in enumerate(listings):
        packages.append(_described(listing))
        for word, weight in _weighed(listing).items():
            found.setdefault(word, []).extend((number, round(10 * weight)))
        for key in {listing.name, short_name(listing.name)}:
            exact.setdefault(key, []).extend((number, 1000))
        for environment in listing.environments:
            exact.setdefault(environment.id.casefold(), []).extend((number, 800))
    yield "search/lexicon.json", _lexicon()
    common = {"format": 2, "count": len(packages), "block": BLOCK}
    whole = _json({**common, "packages": packages, "words": found, "exact": exact})
    if len(whole) <= ONE_FILE:
        yield "search/index.json", whole
        return
    shards: dict[str, dict[str, Postings]] = {}
    for kind, postings in (("words", found), ("exact", exact)):
        for word, entries in postings.items():
            shards.setdefault(shard_of(word), {"words": {}, "exact": {}})[kind][word] = entries
    yield "search/index.json", _json({**common, "shards": sorted(shards)})
    for name, shard in sorted(shards.items()):
        yield f"search/w/{name}.json", _json(shard)
    for start in range(0, len(packages), BLOCK):
        yield f"search/p/{start // BLOCK}.json", _json(packages[start : start + BLOCK])


def _lexicon() -> bytes:
    """Return the meanings of words, with the first stem of each phrase → the numbers of its meanings."""
    meanings = all_meanings()
    beginnings: dict[str, list[int]] = {}
    for number, meaning in enumerate(meanings):
        for root in dict.fromkeys(phrase[0] for phrase in meaning.phrases):
            beginnings.setdefault(root, []).append(number)
    return _json({"meanings": [meaning._asdict() for meaning in meanings], "beginnings": beginnings})


def shard_of(word: str) -> str:
    """Return the name of a word's file; the script uses the same rule."""
    return "".join(c if c in "abcdefghijklmnopqrstuvwxyz0123456789" else "_" for c in f"{word}__"[:2])


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _described(listing: Listing) -> dict[str, Any]:
    check = listing.check
    return {
        "name": listing.name,
        "version": listing.version,
        "summary": listing.summary,
        "status": listing.status,
        "install": listing.install,
        "needs": listing.requires,
        "conformance": f"{check.verdict} (gem-core {check.gem_core}, {check.origin})" if check else "not tested",
        "violated": check.violated if check else 0,
        "untested": untested({"violated": check.violated, "source": check.source} if check else None),
        "published": listing.published,
        "environments": [[e.id, e.description] for e in listing.environments[:_MOST_ENVIRONMENTS]],
    }


def _weighed(listing: Listing) -> dict[str, float]:
    """Return each word of a package with the weight of its best field."""
    names = tokenize(short_name(listing.name))
    weights: dict[str, float] = {}

    def put(weight: float, found: Iterable[str]) -> None:
        for word in found:
            weights[word] = max(weight, weights.get(word, 0.0))

    put(_NAMES * (1 + 1 / len(names)), [*names, "".join(names)])
    put(_SUMMARY, tokenize(listing.summary))
    put(_TAGS, (word for tag in listing.tags for word in tokenize(tag.rpartition(":")[2])))
    for environment in listing.environments:
        put(_IDS, [*tokenize(" ".join([environment.id, *environment.variants])), _joined(environment.id)])
        put(_TAGS, tag_words({key: getattr(environment, key) for key in ("tags", "requires", "modality", "turns")}))
        put(_DESCRIPTION, tokenize(environment.description))
    return weights


def _joined(full_id: str) -> str:
    return "".join(tokenize(parse_id(full_id).name))
