"""Run trackers: where the figures of a run go besides its folder.

``tracker.py``: the protocol, and the figures of an episode; ``tracking.py``: several trackers at once, whose faults
never end a run; ``jsonl.py`` and ``tensorboard.py``: those of this package. Others come through the hook
``gem_run_trackers``.
"""

from __future__ import annotations

from gem.lazy import loaded_on_use

__getattr__, __dir__ = loaded_on_use(globals())
