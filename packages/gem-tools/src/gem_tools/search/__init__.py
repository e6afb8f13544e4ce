"""Search for agents: an index over a corpus, the protocol of retrieval servers, a server, and web search APIs.

::

    from gem_tools import SearchTool

    tool = SearchTool(corpus="wiki.jsonl")                      # an index on this machine, built on first use
    tool = SearchTool(search_url="http://10.0.0.7:8000/retrieve")   # a server: gem search-server, Search-R1's, …

Everything loads on first use.
"""

from __future__ import annotations

from gem.lazy import loaded_on_use

__getattr__, __dir__ = loaded_on_use(globals())
