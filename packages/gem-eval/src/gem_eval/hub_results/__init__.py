"""Results on a hub, from gem-eval's side: made of a run folder, summed up, compared, and checked again.

The format of a result and its signature are in :mod:`gem_hub_client.results`.
"""

from gem.lazy import loaded_on_use

__getattr__, __dir__ = loaded_on_use(globals())
