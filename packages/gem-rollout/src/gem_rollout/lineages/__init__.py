"""The model calls of an agent program that owns its loop, as a tree in which each branch is a lineage."""

from gem_rollout.lineages.call import EngineEvidence, RecordedCall, token_digest
from gem_rollout.lineages.tree import LineageTree

__all__ = ["EngineEvidence", "LineageTree", "RecordedCall", "token_digest"]
