"""The changelog of a wheel: a file of that name in the package's own folder or among its licence files."""

from __future__ import annotations

import re

from gem_hub.reserved import import_name_of
from gem_hub.wheel import Wheel

__all__ = ["MOST_OF_CHANGELOG", "read_changelog"]

MOST_OF_CHANGELOG = 50_000
"""Characters of a changelog that a record keeps: its beginning, where changelogs have their newest entries."""

_NAME = re.compile(r"(changelog|changes|history|news)(\.(md|rst|txt))?", re.IGNORECASE)


def read_changelog(wheel: Wheel) -> tuple[str, str]:
    """Return the file name and the beginning of a wheel's changelog; two empty texts without a readable one."""
    own = import_name_of(wheel.name)
    folders = (f"{own}/", f"{wheel.info}/", f"{wheel.info}/licenses/")
    for folder in folders:
        names = (path.removeprefix(folder) for path in sorted(wheel.archive.entries) if path.startswith(folder))
        for name in names:
            if _NAME.fullmatch(name) is not None:
                content = wheel.archive.read(f"{folder}{name}", 4 * MOST_OF_CHANGELOG)
                text = content.decode("utf-8", "replace").replace("\r\n", "\n")
                return name, text[:MOST_OF_CHANGELOG].replace("\0", "")
    return "", ""
