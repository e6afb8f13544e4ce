"""Folders on their way into a container."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

__all__ = ["archive_of"]


def archive_of(sources: Iterable[Path], root: str) -> bytes:
    """Return a tar archive of files, and of what is in folders, under ``root/``: owned by root, modes kept."""
    buffer = io.BytesIO()

    def owned_by_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        return member

    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for source in sources:
            arcname = root if source.is_dir() else f"{root}/{source.name}"
            if source.exists():
                archive.add(source, arcname=arcname, filter=owned_by_root)
    return buffer.getvalue()
