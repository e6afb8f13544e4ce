"""A world with its articles and its questions; a process has one copy of each."""

from __future__ import annotations

import json
import os
import random
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from gem_envs_qa.atlas.articles import write_articles
from gem_envs_qa.atlas.questions import Question, questions_of, row_of
from gem_envs_qa.atlas.world import AtlasWorld

__all__ = ["SPLITS", "Atlas", "AtlasRows", "atlas_of"]

SPLITS = ("train", "test")
_TEST_SHARE = 5
"""One question in this number is for testing."""


class Atlas:
    """A world with its articles and its questions, each made on first use.

    Use :func:`atlas_of`, which makes each once.

    Args:
        seed: determines the world.
        size: number of articles.
    """

    def __init__(self, seed: int, size: int) -> None:
        self.seed, self.size = seed, size
        self._lock = _Lock()
        self._world: AtlasWorld | None = None
        self._corpus: tuple[Mapping[str, str], ...] | None = None
        self._questions: dict[tuple[str, int], list[Question]] = {}

    @property
    def world(self) -> AtlasWorld:
        """The entities and the facts about them."""
        with self._lock.lock:
            if self._world is None:
                self._world = AtlasWorld(self.seed, self.size)
            return self._world

    @property
    def corpus(self) -> Sequence[Mapping[str, str]]:
        """The articles: ``id``, ``title``, and ``contents`` with the title in quotation marks on its first line."""
        with self._lock.lock:
            if self._corpus is None:
                digest = blake2b(b"articles:%x:%x" % (self.seed, self.size), digest_size=16).digest()
                texts = write_articles(self.world, random.Random(int.from_bytes(digest, "little")))
                self._corpus = tuple(
                    {"id": str(entity.id), "title": entity.name, "contents": f'"{entity.name}"\n{text}'}
                    for entity, text in zip(self.world.entities, texts, strict=True)
                )
            return self._corpus

    def questions(self, kind: str, split: str, count: int) -> list[tuple[int, Question]]:
        """Return the questions of a kind and split, with their numbers among those of the kind.

        Args:
            kind: one of :data:`gem_envs_qa.atlas.questions.QUESTION_KINDS`.
            split: ``"train"`` or ``"test"``; a fifth of all questions is for testing.
            count: maximum number of questions, of both splits together.
        """
        with self._lock.lock:
            found = self._questions.get((kind, count))
            if found is None:
                found = self._questions[kind, count] = questions_of(self.world, kind, count)
        for_test = split == "test"
        return [(n, question) for n, question in enumerate(found) if (n % _TEST_SHARE == 0) is for_test]

    def write_corpus(self, path: str | os.PathLike[str]) -> int:
        """Write the articles as JSON lines, as ``gem search-server`` reads them.

        Returns:
            The number of articles.
        """
        with Path(path).open("w", encoding="utf-8") as file:
            for document in self.corpus:
                file.write(json.dumps(document, ensure_ascii=False) + "\n")
        return len(self.corpus)


class AtlasRows:
    """The questions of an atlas as rows, worded on access.

    Args:
        atlas: the world of the questions.
        kinds: the kinds of questions, which take turns.
        split: ``"train"`` or ``"test"``.
        count: number of questions of each kind, of both splits together.
    """

    def __init__(self, atlas: Atlas, kinds: Sequence[str], split: str, count: int) -> None:
        self._atlas = atlas
        of_kind = [[(kind, *found) for found in atlas.questions(kind, split, count)] for kind in kinds]
        longest = max(map(len, of_kind))
        self._rows = [rows[place] for place in range(longest) for rows in of_kind if place < len(rows)]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        kind, number, question = self._rows[index]
        return row_of(self._atlas.world, kind, question, number)


def atlas_of(seed: int = 0, size: int = 600) -> Atlas:
    """Return the atlas of a seed and a size; the same object each time while it is among the few latest."""
    with _making.lock:
        return _kept(seed, size)


@lru_cache(maxsize=4)
def _kept(seed: int, size: int) -> Atlas:
    return Atlas(seed, size)


class _Lock:
    """A lock that a forked child replaces, since a thread of the parent may have held it."""

    def __init__(self) -> None:
        self._lock, self._process = threading.RLock(), os.getpid()

    @property
    def lock(self) -> AbstractContextManager[Any]:
        if self._process != os.getpid():
            self._lock, self._process = threading.RLock(), os.getpid()
        return self._lock


_making = _Lock()
