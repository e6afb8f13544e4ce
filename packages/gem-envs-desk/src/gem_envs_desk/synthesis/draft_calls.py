"""The calls of a draft, each after those whose answers it needs: :class:`DraftCalls`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["CallNode", "DraftCalls", "DraftError"]


class DraftError(Exception):
    """A walk has come to a dead end; the message is a phrase that is counted."""


@dataclass(frozen=True)
class CallNode:
    """A call in the graph of a draft."""

    tool: str
    arguments: Mapping[str, Any]
    after: frozenset[int]
    """The nodes whose answers it needs."""
    is_gold: bool
    """Whether the task needs it: it writes, or its answer shows what the user wants to know."""


class DraftCalls:
    """A directed acyclic graph of calls; walks share the look-ups that they have in common."""

    def __init__(self) -> None:
        self.nodes: list[CallNode] = []

    def add(self, tool: str, arguments: Mapping[str, Any], after: set[int], *, is_gold: bool) -> int:
        """Return the node of a call: that of an earlier walk if it is the same look-up, or a new one."""
        for number, node in enumerate(self.nodes):
            if not is_gold and not node.is_gold and (node.tool, node.arguments) == (tool, dict(arguments)):
                return number
        self.nodes.append(CallNode(tool, json.loads(json.dumps(dict(arguments))), frozenset(after), is_gold))
        return len(self.nodes) - 1
