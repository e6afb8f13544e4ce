"""Writes the pages into a hub's folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gem_hub.site.build import FOLDERS, details_of, site_files
from gem_hub.truth import Truth

__all__ = ["write_site"]


def write_site(truth: Truth, check: bool = False, report: Callable[[int], None] = lambda done: None) -> list[str]:
    """Update a hub's pages from its records, and remove pages of missing packages.

    Args:
        truth: the records and events.
        check: whether to only compare and write nothing.
        report: receives the number of finished packages.

    Returns:
        The paths that differed, sorted.

    Raises:
        HubError: if a record or event is damaged.
    """

    def watched() -> Iterator[dict[str, Any]]:
        for number, document in enumerate(details_of(truth.packages()), 1):
            yield document
            report(number)

    files = truth.files
    written: set[str] = set()
    differing = []
    for path, content in site_files(watched()):
        written.add(path)
        if files.read(path) != content:
            differing.append(path)
            if not check:
                files.replace(path, content)
    for path in sorted({path for name in FOLDERS for path in files.files(name)} - written):
        differing.append(path)
        if not check:
            files.remove(path)
    return sorted(differing)
