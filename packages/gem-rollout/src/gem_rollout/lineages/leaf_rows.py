"""The rows that a trainer gets of a tree of calls: :func:`leaf_rows`."""

from __future__ import annotations

from dataclasses import dataclass, field

from gem_rollout.lineages.tree import LineageTree
from gem_rollout.trajectory.token_versions import token_versions

__all__ = ["LeafRow", "leaf_rows"]


@dataclass
class LeafRow:
    """What a model reads in one pass: the prompts of a chain of calls, and what it sampled after each."""

    leaf: int
    """The last call of the row."""
    token_ids: list[int] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    """For each token the index of the call that sampled it, −1 for tokens that were shown, and for those that another
    row has as sampled."""
    logprobs: list[float | None] = field(default_factory=list)
    """For each token its natural-log probability; None where it was not sampled, or not measured."""
    versions: list[int | str | None] = field(default_factory=list)
    """For each token the version of the weights that sampled it; None where it was not sampled here, or is unknown."""
    observed: list[bool] = field(default_factory=list)
    """For each token whether a prompt added it between two calls of the row."""


def leaf_rows(tree: LineageTree, *, side: bool = False) -> tuple[list[LeafRow], list[int]]:
    """Return a row for each leaf, and the answered calls that no row can have, since their ids are not known.

    Each sampled token is in exactly one row as sampled: of calls that several leaves share, in the row of the first.
    Where the ids of a call do not continue those of its parent, because a template or a program rewrote the history, a
    row ends with the parent, and another begins with the call's whole prompt.

    Args:
        tree: the calls.
        side: take lineages that served the program alone, too; see :meth:`LineageTree.side_lineages`.
    """
    left_out = set() if side else tree.side_lineages()
    taken = [
        index
        for index, call in enumerate(tree.calls)
        if call.answer is not None and tree.path(index)[0] not in left_out
    ]
    unknown = [index for index in taken if tree.calls[index].added_ids is None or tree.calls[index].token_ids is None]
    known = [index for index in taken if index not in set(unknown)]
    continued = {tree.calls[index].parent for index in known if tree.calls[index].exact}
    owned: set[int] = set()
    return [_row(tree, index, owned) for index in known if index not in continued], unknown


def _row(tree: LineageTree, leaf: int, owned: set[int]) -> LeafRow:
    """Return the row that ends with a call, and note which calls it has as sampled."""
    chain = [leaf]
    while tree.calls[chain[-1]].exact:
        parent = tree.calls[chain[-1]].parent
        assert parent is not None  # the tree refuses a call that is exact without one
        chain.append(parent)
    row = LeafRow(leaf)
    for place, index in enumerate(reversed(chain)):
        call = tree.calls[index]
        added, sampled = call.added_ids or [], call.token_ids or []
        own = index not in owned
        owned.add(index)
        row.token_ids += added + sampled
        row.calls += [-1] * len(added) + [index if own else -1] * len(sampled)
        measured: list[float | None] = [None] * len(sampled)
        if own and call.logprobs is not None and len(call.logprobs) == len(sampled):
            measured = list(call.logprobs)
        row.logprobs += [None] * len(added) + measured
        versions = token_versions(call.version, call.version_spans, len(sampled)) if own else [None] * len(sampled)
        row.versions += [None] * len(added) + versions
        row.observed += [place > 0] * len(added) + [False] * len(sampled)
    return row
