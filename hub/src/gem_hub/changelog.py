"""The changelog of a wheel: a file of that name in the package's own folder or beside its metadata."""

from __future__ import annotations

import re

from gem_hub.reserved import import_name_of
from gem_hub.wheel import Wheel

__all__ = ["MOST_OF_CHANGELOG", "read_changelog"]

MOST_OF_CHANGELOG = 50_000
"""Characters of a changelog that a record keeps: its beginning, where changelogs have their newest entries."""

_NAME = re.compile(r"(changelog|changes|history|news)(\.(md|rst|txt))?", re.IGNORECASE)

_BESIDE_METADATA = ("extra_metadata", "licenses")
"""Folders of the metadata to which build tools add files: Hatch's ``extra-metadata``, and the licences of PEP 639."""


def read_changelog(wheel: Wheel) -> tuple[str, str]:
    """Return the file name and the beginning of a wheel's changelog; two empty texts without a readable one."""
    own = import_name_of(wheel.name)
    folders = (f"{own}/", f"{wheel.info}/", *(f"{wheel.info}/{folder}/" for folder in _BESIDE_METADATA))
    for folder in folders:
        names = (path.removeprefix(folder) for path in sorted(wheel.archive.entries) if path.startswith(folder))
        for name in names:
            if _NAME.fullmatch(name) is not None:
                content = wheel.archive.read(f"{folder}{name}", 4 * MOST_OF_CHANGELOG)
                text = content.decode("utf-8", "replace").replace("\r\n", "\n")
                return name, text[:MOST_OF_CHANGELOG].replace("\0", "")
    return "", ""
