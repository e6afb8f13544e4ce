"""Warnings that a process gives once, however many environments would repeat them: :func:`warn_once`."""

from __future__ import annotations

import warnings

__all__ = ["warn_once"]

_GIVEN: set[str] = set()


def warn_once(text: str) -> None:
    """Give a warning unless this process has given it before."""
    if text not in _GIVEN:
        _GIVEN.add(text)
        warnings.warn(text, stacklevel=4)
