"""The operations on a hosted environment, and the kinds of their results: the numbers that cross process boundaries."""

from __future__ import annotations

__all__ = [
    "ABANDON",
    "ABANDONED",
    "CLOSE",
    "CONTINUES",
    "ENDED",
    "FAILED",
    "GET_STATE",
    "MAKE",
    "NAMES",
    "REFUSED",
    "RESET",
    "SAMPLE",
    "SET_STATE",
    "STEP",
]

STEP, RESET, MAKE, CLOSE, GET_STATE, SET_STATE, SAMPLE, ABANDON = range(8)

NAMES = {"step": STEP, "reset": RESET, "get_state": GET_STATE, "set_state": SET_STATE, "sample": SAMPLE}
"""The operations that a client may ask for by name; ``open`` and ``close`` belong to the session."""

CONTINUES, ENDED, FAILED, REFUSED = range(4)
"""A result: the episode goes on, or there is none; it has ended; the environment failed; the call was wrong."""

ABANDONED = 8
"""Added to the kind of the result of ``ABANDON``, so that it is not taken for a late result of the call before it."""
