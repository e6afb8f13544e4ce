"""The prefix caches of the server's replicas: which part of a prompt they would not have to compute."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from zlib import crc32

__all__ = ["ReplicaCaches"]

_BLOCK = 16
"""Tokens of a block, as in vLLM: only whole blocks are shared."""

_REMEMBERED = 200_000
"""Blocks that a replica keeps; those used longest ago go first."""


class ReplicaCaches:
    """The caches of replicas behind a router that sends a session to one of them, and what has none to each in turn.

    Args:
        replicas: how many there are.
    """

    def __init__(self, replicas: int) -> None:
        self._blocks: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(replicas)]
        self._turn = 0

    def replica(self, session: str | None) -> int:
        """Return the number of the replica that gets the next request of a session."""
        if session is not None:
            return crc32(session.encode("utf-8", "surrogatepass")) % len(self._blocks)
        self._turn = (self._turn + 1) % len(self._blocks)
        return self._turn

    def cached_tokens(self, replica: int, prompt: Sequence[int]) -> int:
        """Return how many of a prompt's first tokens a replica knows. The last token is always computed."""
        known, tokens = self._blocks[replica], 0
        for block in _blocks(prompt[:-1]):
            if block not in known:
                break
            known.move_to_end(block)
            tokens += _BLOCK
        return tokens

    def remember(self, replica: int, ids: Sequence[int]) -> None:
        """Keep a prompt with what was sampled for it, except the last token, which nothing was computed for."""
        known = self._blocks[replica]
        for block in _blocks(ids[:-1]):
            known[block] = None
            known.move_to_end(block)
        while len(known) > _REMEMBERED:
            known.popitem(last=False)


def _blocks(ids: Sequence[int]) -> Iterator[int]:
    """Yield a hash of each whole block and all before it."""
    before = 0
    for start in range(0, len(ids) - _BLOCK + 1, _BLOCK):
        before = hash((before, *ids[start : start + _BLOCK]))
        yield before
