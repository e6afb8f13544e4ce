"""A generated world, its articles, and questions that only they can answer.

::

    from gem_envs_qa.atlas import atlas_of

    atlas_of(seed=7, size=10_000).write_corpus("atlas.jsonl")   # for: gem search-server --corpus atlas.jsonl
"""

from __future__ import annotations

from gem.lazy import loaded_on_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gem_envs_qa.atlas.atlas import Atlas, atlas_of
    from gem_envs_qa.atlas.env import AtlasEnv

__all__ = ["Atlas", "AtlasEnv", "atlas_of"]

_HOMES = {
    "Atlas": "gem_envs_qa.atlas.atlas",
    "AtlasEnv": "gem_envs_qa.atlas.env",
    "atlas_of": "gem_envs_qa.atlas.atlas",
}

__getattr__, __dir__ = loaded_on_use(globals(), _HOMES)
