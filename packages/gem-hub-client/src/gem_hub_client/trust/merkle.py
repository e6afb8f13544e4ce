"""Merkle trees of a log (RFC 6962, section 2.1), as much of one as a growing log and its clients need.

An *edge* holds the hashes of a tree's largest complete subtrees, from left to right: one for each binary digit 1 of
its size. It gives the tree's hash, and it is all that is needed to append. Appending to the edge of an old tree and
arriving at the hash of a new one therefore proves that the new tree begins with the old one.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

__all__ = ["Edge", "appended", "block_hash", "leaf_hash", "node_hash", "tree_hash"]

Edge = tuple[bytes, ...]


def leaf_hash(entry: bytes) -> bytes:
    """Return the hash of an entry of the log."""
    return sha256(b"\0" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of a node from those of its children."""
    return sha256(b"\1" + left + right).digest()


def appended(edge: Edge, size: int, node: bytes, level: int = 0) -> Edge:
    """Return the edge of a tree to which a complete subtree is appended.

    Args:
        edge: of the tree.
        size: its number of leaves, a multiple of those of the subtree.
        node: the hash of the subtree.
        level: its height; it has ``2 ** level`` leaves.
    """
    nodes = [*edge, node]
    rest = size >> level
    while rest & 1:
        right, left = nodes.pop(), nodes.pop()
        nodes.append(node_hash(left, right))
        rest >>= 1
    return tuple(nodes)


def tree_hash(edge: Edge) -> bytes:
    """Return the hash of the tree with an edge."""
    if not edge:
        return sha256(b"").digest()
    result = edge[-1]
    for node in reversed(edge[:-1]):
        result = node_hash(node, result)
    return result


def block_hash(nodes: Sequence[bytes]) -> bytes:
    """Return the hash over nodes of one level, whose number is a power of two."""
    while len(nodes) > 1:
        nodes = [node_hash(nodes[at], nodes[at + 1]) for at in range(0, len(nodes), 2)]
    return nodes[0]
