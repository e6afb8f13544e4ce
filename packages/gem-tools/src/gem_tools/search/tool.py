"""The search tool for agents: :class:`SearchTool`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gem.arguments import choice, integer, real
from gem.errors import ArgumentError, ArgumentTypeError
from gem.tools.base import Tool, ToolResult
from gem_tools.search.engine import MOST_HITS, SearchEngine, SearchHit
from gem_tools.search.errors import SearchError

if TYPE_CHECKING:
    from gem_tools.search.local import Corpus

__all__ = ["VARIABLE", "SearchTool"]

VARIABLE = "SEARCH_URL"
"""The environment variable with the default address of a retrieval server."""

_NOTHING = "Nothing was found. Try other words."
_EMPTY = "The query is empty."


class SearchTool(Tool):
    """Finds documents for an agent's queries.

    In text, the first complete ``<search>…</search>`` is a query; natively, a call of ``search`` with ``query`` and
    optionally ``topk``. The result has the format of the original GEM::

        <information>Doc 1(Title: "Lima") Lima is the capital of Peru.
        Doc 2(Title: "Callao") Callao is a port.
        </information>

    One of these is searched:

    * ``corpus``: a file of JSON lines (see :mod:`gem_tools.search.corpus`), over which an index is written once, or
      documents that are in memory. The index is shared by all tools of the process; it needs no server.
    * ``search_url``: a retrieval server, see :class:`gem_tools.search.RemoteEngine`.
    * ``engine``: a web search by name (``"brave"``, ``"google"``, ``"serpapi"``, ``"tavily"``), see
      :mod:`gem_tools.search.web`; or anything that is a :class:`gem_tools.search.SearchEngine`.
    * by default, the server that the environment variable ``SEARCH_URL`` names.

    An environment can provide its own corpus in an attribute ``search_corpus``, of the same types as ``corpus``;
    the wrappers ``search_tool`` and ``search_tool_no_int_reward`` then search it by default.

    A query may contain any text: it is a set of words without a syntax. The agent receives the error of a failed search
    in brackets, as a failed call.

    Args:
        search_url: the address of a retrieval server.
        topk: the number of documents, 1 to 100. A native call may request up to ``topk`` or 10, whichever is larger.
        timeout: the time limit of a search over a network in seconds, including all retries.
        corpus: the path of a corpus, documents, or a function that returns either.
        engine: the name of a web search, or an engine.
        retries: the number of retries of a lost request to a server.
        protocol: the format of requests to a retrieval server: ``"auto"``, ``"msgpack"`` or ``"json"``; see
            :class:`gem_tools.search.RemoteEngine`.

    Raises:
        ArgumentError: unless exactly one argument or the environment variable selects the engine.
        CorpusError: if the corpus is invalid; the message names the line. A function is first called by a search.
        SearchError: if the index over a file cannot be written.
    """

    name = "search"
    description = "Search a collection of documents; returns the documents that fit the query best."
    tag = "search"

    def __init__(
        self,
        search_url: str | None = None,
        topk: int = 3,
        timeout: float = 5.0,
        corpus: Corpus | None = None,
        engine: str | SearchEngine | None = None,
        retries: int = 2,
        protocol: str = "auto",
    ) -> None:
        self.protocol = choice("protocol", protocol, ("auto", "msgpack", "json"))
        self.topk = integer("topk", topk, minimum=1, maximum=MOST_HITS)
        self.timeout = real("timeout", timeout, minimum=0.001, maximum=86_400.0)
        self.retries = integer("retries", retries, minimum=0, maximum=100)
        self.most_hits = max(10, self.topk)
        self.parameters = {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "The words to search for."},
                "topk": {
                    "type": "integer",
                    "description": f"How many documents to return; {self.topk} if left out.",
                    "minimum": 1,
                    "maximum": self.most_hits,
                },
            },
            "required": ["query"],
        }
        if search_url is None and corpus is None and engine is None:
            search_url = os.environ.get(VARIABLE) or None
        given = [name for name, value in _named(search_url, corpus, engine) if value is not None]
        if len(given) != 1:
            advice = f"got {' and '.join(given)}" if given else f"and {VARIABLE} is not set in the environment"
            raise ArgumentError(
                f"SearchTool needs one of search_url, corpus and engine to know what to search; {advice}"
            )
        self._corpus = corpus
        self._engine = self._opened(search_url, corpus, engine)

    @property
    def engine(self) -> SearchEngine:
        """The engine of the searches."""
        if self._engine is None:
            from gem_tools.search.local import local_index

            assert self._corpus is not None
            self._engine = local_index(self._corpus)
        return self._engine

    def instruction_string(self) -> str:
        return (
            "You can search a collection of documents while you work on the task. Write a query between <search> and "
            "</search>, for example <search>capital of Peru</search>; the documents that fit it best are then shown to "
            "you between <information> and </information>. You can search again with other words. Give your final "
            "answer as the task asks for it."
        )

    def execute(self, arguments: Mapping[str, Any]) -> ToolResult:
        query, topk = arguments.get("query"), arguments.get("topk")
        if not isinstance(query, str):
            raise ArgumentTypeError(f"the argument query must be a str, got {type(query).__name__}")
        topk = self.topk if topk is None else integer("topk", topk, minimum=1, maximum=self.most_hits)
        if not query.strip():
            return _told(f"[SearchTool Error: {_EMPTY}]", ok=False)
        try:
            hits = self.engine.search(query, topk)
        except SearchError as error:
            return _told(f"[SearchTool Error: {error}]", ok=False)
        if not hits:
            return _told(_NOTHING, data=[])
        return _told("".join(_shown(place, hit) for place, hit in enumerate(hits, start=1)), data=_data(hits))

    def close(self) -> None:
        """Do nothing: the engine is shared with other tools, and an unused connection closes by itself."""

    def __deepcopy__(self, memo: dict[int, Any]) -> SearchTool:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)  # the engine is shared
        return twin

    def __getstate__(self) -> dict[str, Any]:
        # An index is not copied into another process, which opens it again or builds its own from the documents.
        return self.__dict__ if self._corpus is None else {**self.__dict__, "_engine": None}

    def _opened(self, search_url: str | None, corpus: Corpus | None, engine: object) -> SearchEngine | None:
        if search_url is not None:
            from gem_tools.search.remote import RemoteEngine

            return RemoteEngine(search_url, timeout=self.timeout, retries=self.retries, protocol=self.protocol)
        if isinstance(engine, str):
            from gem_tools.search.web import web_engine

            return web_engine(engine, timeout=self.timeout, retries=self.retries)
        if engine is not None:
            if not isinstance(engine, SearchEngine):
                raise ArgumentTypeError(
                    f"engine must be a name or have search(query, topk), got {type(engine).__name__}"
                )
            return engine
        if corpus is None or callable(corpus):
            return None
        from gem_tools.search.local import local_index

        return local_index(corpus)


def _named(search_url: object, corpus: object, engine: object) -> list[tuple[str, object]]:
    return [("search_url", search_url), ("corpus", corpus), ("engine", engine)]


def _told(text: str, ok: bool = True, data: Any = None) -> ToolResult:
    return ToolResult(f"\n\n<information>{text}</information>\n\n", ok=ok, data=data)


def _shown(place: int, hit: SearchHit) -> str:
    return f"Doc {place}(Title: {hit.heading}) {hit.text}\n"


def _data(hits: list[SearchHit]) -> list[dict[str, Any]]:
    return [{"id": hit.id, "title": hit.title, "text": hit.text, "score": hit.score} for hit in hits]
