"""Files that are replaced as a whole."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(target: Path, text: str) -> None:
    """Write a file atomically: a reader sees the whole new file or the old one."""
    part = target.with_name(f"{target.name}.part-{os.getpid()}")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
