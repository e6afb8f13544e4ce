"""Vectors as bytes, with a bound of the error: the first pass of an exact search (:class:`VectorCodes`).

A vector v of length 1 is s c + e, with a scale s, a vector c of whole numbers from -127 to 127, and a rest e of known
length. For two such vectors, v · w differs from s t (c · d) by at most ``|e| |w| + |v - e| |f|``, f being the rest of w
(Cauchy and Schwarz), so a document whose upper bound lies below the lower bounds of others is none of the best.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gem_tools.search.embeddings import Vectors

__all__ = ["VectorCodes", "encoded", "reached"]

_GROUP = 128
_SLACK = 1e-5
"""More than the rounding of the scales and the bounds themselves, which are in single precision."""


def encoded(vectors: Vectors) -> tuple[Any, Any]:
    """Return the bytes of some vectors of length 1 or 0, and for each its scale and the length of its rest."""
    import numpy as np

    scales = np.abs(vectors).max(axis=1, keepdims=True) / np.float32(127)
    codes = np.rint(vectors / np.where(scales > 0, scales, 1)).astype(np.int8)
    rests = np.linalg.norm(vectors - scales * codes, axis=1, keepdims=True)
    return codes, np.concatenate([scales, rests], axis=1).astype(np.float32)


def reached(scores: Any, topk: int) -> Any:
    """Return a number that at least ``topk`` scores reach, and few others.

    The best score of each of many groups is found faster than an order of all scores.
    """
    import numpy as np

    groups = len(scores) // _GROUP
    if groups >= topk:
        scores = scores[: groups * _GROUP].reshape(groups, _GROUP).max(axis=1)
    return np.partition(scores, len(scores) - topk)[len(scores) - topk]


class VectorCodes:
    """The vectors of an index as bytes.

    Args:
        codes: the bytes, of shape ``(documents, dimensions)``.
        scales: for each document its scale and the length of its rest.
    """

    def __init__(self, codes: Any, scales: Any) -> None:
        self.codes = codes
        self.scales = scales

    @cached_property
    def are_fast(self) -> bool:
        """Whether the library for products of bytes is there."""
        try:
            import simsimd  # noqa: F401
        except ImportError:
            return False
        return True

    def near(self, vector: Vectors, topk: int) -> Any:
        """Return the places of all documents that may be among the ``topk`` best for a vector of length 1."""
        import numpy as np
        import simsimd

        code, ((scale, rest),) = encoded(vector[None])
        scores = np.asarray(simsimd.cdist(code, self.codes, metric="dot"))[0].astype(np.float32)
        scores *= self._steps
        scores *= scale
        # With the largest error first, which needs no arithmetic for each document; then with that of each.
        largest = self._largest_rest + (1 + self._largest_rest) * rest + _SLACK
        near = np.flatnonzero(scores >= reached(scores, topk) - 2 * largest)
        rests = self.scales[near, 1]
        scores, errors = scores[near], rests + (1 + rests) * rest + _SLACK
        return near[scores + errors >= np.partition(scores - errors, len(near) - topk)[len(near) - topk]]

    @cached_property
    def _steps(self) -> Any:
        return self.scales[:, 0].copy()

    @cached_property
    def _largest_rest(self) -> Any:
        return self.scales[:, 1].max()
