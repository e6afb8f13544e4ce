"""Batched searches of concurrent requests: :class:`Batcher`."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from gem_tools.search.engine import SearchEngine, SearchHit

__all__ = ["Batcher", "OverloadedError"]

_LARGEST_BATCH = 64


class OverloadedError(Exception):
    """Too many searches wait to be answered soon."""


@dataclass
class _Waiting:
    query: str
    topk: int
    answer: asyncio.Future[list[SearchHit]]


class Batcher:
    """Runs searches in a thread, in batches of the requests that arrived during the last batch.

    The event loop continues meanwhile, and is woken once for each batch. A query that occurs several
    times in a batch, for example from a group of agents with one question, is searched once. Each search keeps
    its own ``topk``.

    Args:
        engine: the search engine.
        most_waiting: the largest number of waiting searches. More are rejected immediately.
    """

    def __init__(self, engine: SearchEngine, most_waiting: int = 8192) -> None:
        self._engine = engine
        self._most_waiting = most_waiting
        self._waiting: deque[_Waiting] = deque()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="gem-search")
        self._busy: asyncio.Task[None] | None = None

    async def search(self, queries: tuple[str, ...], topk: int) -> list[list[SearchHit]]:
        """Return the hits of each query.

        Raises:
            OverloadedError: if too many searches are waiting.
            SearchError: if a search failed.
        """
        if len(self._waiting) + len(queries) > self._most_waiting:
            raise OverloadedError(f"{len(self._waiting)} searches are waiting; try again later")
        loop = asyncio.get_running_loop()
        own = [_Waiting(query, topk, loop.create_future()) for query in queries]
        self._waiting.extend(own)
        if self._busy is None or self._busy.done():
            self._busy = asyncio.create_task(self._work())
        return await asyncio.gather(*(waiting.answer for waiting in own))

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=False)

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), _LARGEST_BATCH))]
            answers = await loop.run_in_executor(self._thread, self._searched, batch)
            for waiting, answer in zip(batch, answers, strict=True):
                if waiting.answer.done():  # no caller waits any more
                    continue
                if isinstance(answer, Exception):
                    waiting.answer.set_exception(answer)
                else:
                    waiting.answer.set_result(answer)

    def _searched(self, batch: list[_Waiting]) -> list[list[SearchHit] | Exception]:
        many = getattr(self._engine, "search_many", None)
        if many is not None:
            return self._searched_at_once(batch, many)
        known: dict[tuple[str, int], list[SearchHit] | Exception] = {}
        for waiting in batch:
            key = waiting.query, waiting.topk
            if key not in known:
                try:
                    known[key] = self._engine.search(*key)
                except Exception as error:
                    known[key] = error
        return [known[waiting.query, waiting.topk] for waiting in batch]

    def _searched_at_once(
        self, batch: list[_Waiting], search_many: Callable[[Sequence[str], int], list[list[SearchHit]]]
    ) -> list[list[SearchHit] | Exception]:
        """Search for all queries in one call, as an engine with vectors can."""
        queries = list(dict.fromkeys(waiting.query for waiting in batch))
        try:
            found = search_many(queries, max(waiting.topk for waiting in batch))
        except Exception as error:
            return [error for _ in batch]
        known = dict(zip(queries, found, strict=True))
        return [known[waiting.query][: waiting.topk] for waiting in batch]
