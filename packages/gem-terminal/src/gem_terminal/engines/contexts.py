"""Build contexts: the folders that images are built from."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from gem_terminal.engines.mirrors import mirror_settings
from gem_terminal.task import Image

__all__ = ["IMAGES", "beginning_of", "cache_folder", "digest_of", "digest_of_sources"]

IMAGES = "GEM_TERMINAL_IMAGES"
"""The environment variable that names the folder of unpacked images."""


def cache_folder() -> Path:
    """Return the folder of this user's unpacked images, which the variable :data:`IMAGES` overrides."""
    if folder := os.environ.get(IMAGES):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gem" / "terminal"


def beginning_of(image: Image) -> str:
    """Return a name for what an image begins with: its base and the first command that runs on it.

    Images that begin alike are built one after another, so that they share their beginning; others at the same time.
    """
    if image.folder is None:
        return hashlib.sha256(str(image.name).encode()).hexdigest()[:24]
    digest = hashlib.sha256()
    try:
        text = (image.folder / image.dockerfile).read_text(encoding="utf-8", errors="replace")
    except OSError:  # the build says what is wrong
        text = ""
    for line in text.splitlines():
        digest.update(line.strip().encode())
        if line.strip().upper().startswith(("RUN", "COPY", "ADD")):
            break
    return digest.hexdigest()[:24]


def digest_of(image: Image) -> str:
    """Return the digest of a build: the context's paths, modes and contents, but no times, and the mirrors."""
    assert image.folder is not None
    digest = hashlib.sha256(image.dockerfile.encode())
    if settings := mirror_settings():
        digest.update(settings.digest.encode())
    for argument, value in image.arguments:
        digest.update(f"{len(argument)}:{argument}={len(value)}:{value};".encode())
    if image.digest is not None:
        digest.update(f"digest {image.digest}".encode())
        return digest.hexdigest()[:24]
    _add(digest, image.folder, image.folder.rglob("*"))
    return digest.hexdigest()[:24]


def digest_of_sources(image: Image, sources: Iterable[Path]) -> str:
    """Return the digest of the files of a context that one instruction copies, for layers that do not depend on others.

    Args:
        image: with the context.
        sources: files and folders in it.
    """
    if image.digest is not None:
        return digest_of(image)
    assert image.folder is not None
    digest = hashlib.sha256()
    for source in sources:
        digest.update(f"{source.relative_to(image.folder.resolve())}\0".encode(errors="surrogateescape"))
        _add(digest, image.folder.resolve(), (source, *source.rglob("*")))
    return digest.hexdigest()[:24]


def _add(digest: hashlib._Hash, folder: Path, paths: Iterable[Path]) -> None:
    for path in sorted(paths):
        if path.is_symlink():
            content = str(path.readlink()).encode()
        elif path.is_file():
            content = path.read_bytes()
        else:
            continue
        mode = path.lstat().st_mode & 0o777
        name = str(path.relative_to(folder)).encode(errors="surrogateescape")
        digest.update(b"%d:%s:%o:%d:" % (len(name), name, mode, len(content)) + content)
