"""A generated world, its articles, and questions that only they can answer.

::

    from gem_envs_qa.atlas import atlas_of

    atlas_of(seed=7, size=10_000).write_corpus("atlas.jsonl")   # for: gem search-server --corpus atlas.jsonl
"""

from __future__ import annotations

from gem.lazy import loaded_on_use

__getattr__, __dir__ = loaded_on_use(globals())
