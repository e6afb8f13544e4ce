"""The wrappers and vectorization modes of gem-core: name → entry point."""

from __future__ import annotations

__all__ = ["VECTOR_BACKENDS", "WRAPPERS"]

WRAPPERS = {
    "concat": "gem.wrappers.text_history:Concat",
    "concat_with_action": "gem.wrappers.text_history:ConcatWithAction",
    "episode_tracking": "gem.wrappers.tracking:EpisodeTracking",
    "time_limit": "gem.wrappers.limits:TimeLimit",
    "wall_clock_limit": "gem.wrappers.limits:WallClockLimit",
    "attempts": "gem.wrappers.attempts:Attempts",
}

VECTOR_BACKENDS = {
    "sync": "gem.vector.sync:SyncVectorEnv",
    "thread": "gem.vector.thread:ThreadVectorEnv",
}
