"""Search for agents: an index over a corpus of documents, the protocol of retrieval servers, a server, web APIs.

::

    from gem_tools import SearchTool

    tool = SearchTool(corpus="wiki.jsonl")                      # an index on this machine, built on first use
    tool = SearchTool(search_url="http://10.0.0.7:8000/retrieve")   # a server: gem search-server, Search-R1's, …

Everything loads on first use.
"""

from __future__ import annotations

from gem.lazy import loaded_on_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gem_tools.search.corpus import Document
    from gem_tools.search.engine import Hit, SearchEngine
    from gem_tools.search.errors import CorpusError, SearchError
    from gem_tools.search.index import LocalIndex
    from gem_tools.search.local import local_index
    from gem_tools.search.remote import RemoteEngine
    from gem_tools.search.tool import SearchTool
    from gem_tools.search.web import BraveSearch, GoogleSearch, SerpApiSearch, TavilySearch

__all__ = [
    "BraveSearch",
    "CorpusError",
    "Document",
    "GoogleSearch",
    "Hit",
    "LocalIndex",
    "RemoteEngine",
    "SearchEngine",
    "SearchError",
    "SearchTool",
    "SerpApiSearch",
    "TavilySearch",
    "local_index",
]

_HOMES = {
    "BraveSearch": "gem_tools.search.web",
    "CorpusError": "gem_tools.search.errors",
    "Document": "gem_tools.search.corpus",
    "GoogleSearch": "gem_tools.search.web",
    "Hit": "gem_tools.search.engine",
    "LocalIndex": "gem_tools.search.index",
    "RemoteEngine": "gem_tools.search.remote",
    "SearchEngine": "gem_tools.search.engine",
    "SearchError": "gem_tools.search.errors",
    "SearchTool": "gem_tools.search.tool",
    "SerpApiSearch": "gem_tools.search.web",
    "TavilySearch": "gem_tools.search.web",
    "local_index": "gem_tools.search.local",
}

__getattr__, __dir__ = loaded_on_use(globals(), _HOMES)
