"""The wheel of a release: loaded, proved to be the one that its hub lists, and read without being unpacked."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit
from urllib.request import url2pathname

from gem_hub_client.errors import HubError
from gem_hub_client.releases import IndexedRelease
from gem_hub_client.transport import FolderSource, WebSource

__all__ = ["file_digests", "load_wheel"]

_MOST_FILES = 50_000
_MOST_BYTES = 2**31
"""The largest size of a wheel's files together, unpacked: a small archive may promise terabytes."""
_BLOCK = 1 << 20


def load_wheel(
    release: IndexedRelease, target: BinaryIO, progress: Callable[[int], None] = lambda length: None
) -> None:
    """Copy the wheel of a release into a file, and go back to its beginning.

    Args:
        release: one with an address.
        target: where to copy it; open for reading as well.
        progress: receives the length of each block.

    Raises:
        HubError: if it cannot be loaded, or is not exactly the wheel that its hub lists.
    """
    parts = urlsplit(release.url)
    if parts.scheme == "file":
        path = Path(url2pathname(parts.path))
        FolderSource(path.parent).copy(path.name, target, release.size, progress)
    else:
        WebSource("").copy(release.url, target, release.size, progress)
    target.seek(0)
    digest = sha256()
    while block := target.read(_BLOCK):
        digest.update(block)
    if digest.hexdigest() != release.sha256:
        raise HubError(
            f"{release.url}: is not the wheel of {release} that {release.hub.name} lists: expected sha256 "
            f"{release.sha256}, found {digest.hexdigest()}; it was not used"
        )
    target.seek(0)


def file_digests(release: IndexedRelease, progress: Callable[[int], None] = lambda length: None) -> dict[str, str]:
    """Return the sha256 of each file in the wheel of a release, reckoned from its bytes and not from its RECORD.

    The folder of its metadata is called ``.dist-info`` whatever the version, and its RECORD is left out, because it
    repeats all others.

    Args:
        release: one with an address.
        progress: receives the length of each block that is loaded.

    Raises:
        HubError: if the wheel cannot be loaded or read, or would unpack to more than two gigabytes.
    """
    found: dict[str, str] = {}
    with tempfile.TemporaryFile() as file:
        load_wheel(release, file, progress)
        try:
            with zipfile.ZipFile(file) as archive:
                items = [item for item in archive.infolist() if not item.is_dir()]
                if len(items) > _MOST_FILES or sum(item.file_size for item in items) > _MOST_BYTES:
                    raise ValueError(f"it has {len(items):,} files, or more than {_MOST_BYTES // 2**30} GiB of them")
                for item in items:
                    folder, slash, rest = item.filename.partition("/")
                    path = f".dist-info/{rest}" if slash and folder.endswith(".dist-info") else item.filename
                    if path != ".dist-info/RECORD":
                        found[path] = _digest(archive, item)
        except (zipfile.BadZipFile, ValueError, OSError, EOFError, NotImplementedError, RuntimeError) as error:
            raise HubError(f"{release}: its wheel cannot be read: {error}") from error
    return found


def _digest(archive: zipfile.ZipFile, item: zipfile.ZipInfo) -> str:
    digest, left = sha256(), item.file_size
    with archive.open(item) as content:
        while block := content.read(_BLOCK):
            left -= len(block)
            if left < 0:
                raise ValueError(f"{item.filename} is longer than it says")
            digest.update(block)
    return digest.hexdigest()
