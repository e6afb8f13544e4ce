"""Rows as a ``datasets.Dataset``: :func:`to_rows_dataset`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gem.errors import ArgumentError, MissingPluginError

__all__ = ["to_rows_dataset"]


def to_rows_dataset(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Return rows as a ``datasets.Dataset``; its ``to_parquet(path)`` writes them as Parquet.

    Args:
        rows: of one of the functions of :mod:`gem_rl.export`.

    Raises:
        MissingPluginError: if the library ``datasets`` is not installed.
        ArgumentError: if there is no row, from which the columns follow.
    """
    try:
        import datasets
    except ModuleNotFoundError as error:
        raise MissingPluginError(
            "a data set needs the library datasets; run: pip install 'gem-rollout[datasets]'"
        ) from error
    found = [dict(row) for row in rows]
    if not found:
        raise ArgumentError("there is no row to make a data set of; did every episode fail, or keep() refuse it?")
    return datasets.Dataset.from_list(found)
