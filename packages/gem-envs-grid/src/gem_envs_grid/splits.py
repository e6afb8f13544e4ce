"""Train and test: the content of a task decides its split, so no task is in both."""

from __future__ import annotations

from zlib import crc32

from gem.arguments import choice

__all__ = ["SPLITS", "in_split", "split_name"]

SPLITS = ("train", "test")
_TEST_SHARE = 4
"""One task in this number is for testing."""


def split_name(split: object) -> str:
    """Return ``split`` if it is ``"train"`` or ``"test"``.

    Raises:
        ArgumentError: for anything else.
    """
    return str(choice("split", split, SPLITS))


def in_split(content: str, split: str) -> bool:
    """Return whether the task with this content belongs to ``split``; about one task in four is for testing."""
    return (crc32(content.encode()) % _TEST_SHARE == 0) is (split == "test")
