"""The world of DeepSearch with its index, one for all environments of a process: :func:`searched_world`."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from gem.fork_hooks import after_fork_in_child
from gem_envs_qa.atlas.questions import FactChains
from gem_envs_qa.deep_search.articles import search_articles
from gem_envs_qa.deep_search.mentions import ArticleMentions
from gem_envs_qa.deep_search.naming import NameVocabulary
from gem_envs_qa.deep_search.world import SearchWorld

if TYPE_CHECKING:
    from gem_tools.search import LocalIndex

__all__ = ["MOST_HOPS", "SearchedWorld", "corpus_of", "searched_world"]

MOST_HOPS = 4
"""Facts of the longest chains that questions are about."""


class SearchedWorld(NamedTuple):
    """What all environments of a world share."""

    world: SearchWorld
    corpus: Sequence[Mapping[str, str]]
    """The articles: ``id``, ``title``, and ``contents`` with the title in quotation marks on its first line."""
    engine: LocalIndex
    mentions: ArticleMentions
    vocabulary: NameVocabulary
    chains: Mapping[int, FactChains]
    """Number of hops → the chains."""
    lines: dict[str, tuple[str, ...]]
    """The id of an article that was shown → its line, in pieces."""


_lock = threading.Lock()
_worlds: dict[tuple[int, int], SearchedWorld] = {}
_KEPT = 4
"""Worlds that a process keeps."""


def searched_world(world_seed: int, size: int) -> SearchedWorld:
    """Return the index and the chains of a world, one for all environments of the process."""
    found = _worlds.get((world_seed, size))
    if found is None:
        with _lock:
            found = _worlds.get((world_seed, size))
            if found is None:
                from gem_tools.search import local_index

                world = SearchWorld(world_seed, size)
                corpus = corpus_of(world)
                chains = {hops: FactChains(world, hops) for hops in range(2, MOST_HOPS + 1)}
                engine = local_index(corpus)
                texts = [document["contents"] for document in corpus]
                vocabulary = NameVocabulary(world.languages, texts, engine.terms)
                found = SearchedWorld(world, corpus, engine, ArticleMentions(corpus), vocabulary, chains, {})
                while len(_worlds) >= _KEPT:
                    del _worlds[next(iter(_worlds))]
                _worlds[world_seed, size] = found
    return found


def corpus_of(world: SearchWorld) -> Sequence[Mapping[str, str]]:
    """Return the articles of a world."""
    digest = blake2b(b"search articles:%x:%x" % (world.seed, world.size), digest_size=16).digest()
    texts = search_articles(world, random.Random(int.from_bytes(digest, "little")))
    return tuple(
        {"id": str(entity.id), "title": entity.name, "contents": f'"{entity.name}"\n{text}'}
        for entity, text in zip(world.entities, texts, strict=True)
    )


def _renewed() -> None:
    # Another thread of the parent may have held the lock.
    global _lock
    _lock = threading.Lock()


after_fork_in_child(_renewed)
