"""The part that each lineage of an episode played: :func:`lineage_kinds`."""

from __future__ import annotations

import json
from typing import Literal

from gem_rollout.lineages.tree import LineageTree

__all__ = ["LineageKind", "lineage_kinds"]

LineageKind = Literal["main", "subagent", "compaction", "changed_history", "retry", "side", "unanswered"]


def lineage_kinds(tree: LineageTree) -> dict[int, LineageKind]:
    """Return the part of each lineage by its first call, in the order in which the lineages began.

    No program says what its calls are for. The kinds are read from what is recorded, the first that holds:

    - ``unanswered``: none of its calls was answered;
    - ``side``: no tool was offered in it, while others were offered some (:meth:`LineageTree.side_lineages`);
    - ``main``: the first of the others;
    - ``retry``: it begins with the same messages as one before it;
    - ``changed_history``: the model has already answered in the conversation that it begins with, which is therefore
      not as recorded;
    - ``subagent``: an earlier lineage goes on after its beginning, or the call before it was offered other tools;
    - ``compaction``: all earlier lineages have ended, and the program goes on with the same tools.
    """
    roots = tree.roots()
    answered = {root for root, call in zip(roots, tree.calls, strict=True) if call.answer is not None}
    side = tree.side_lineages()
    last_calls = {root: index for index, root in enumerate(roots)}
    kinds: dict[int, LineageKind] = {}
    beginnings: set[str] = set()
    end = -1  # the last call of all lineages so far
    latest = -1  # the call before
    for index, root in enumerate(roots):
        if root not in answered:
            kinds[root] = "unanswered"
        elif root in side:
            kinds[root] = "side"
        else:
            if index == root:
                call = tree.calls[root]
                beginning = json.dumps(call.messages, sort_keys=True)
                if latest < 0:
                    kinds[root] = "main"
                elif beginning in beginnings:
                    kinds[root] = "retry"
                elif any(message.get("role") == "assistant" for message in call.messages):
                    kinds[root] = "changed_history"
                elif end > index or set(call.tools) != set(tree.calls[latest].tools):
                    kinds[root] = "subagent"
                else:
                    kinds[root] = "compaction"
                beginnings.add(beginning)
                end = max(end, last_calls[root])
            latest = index
    return kinds
