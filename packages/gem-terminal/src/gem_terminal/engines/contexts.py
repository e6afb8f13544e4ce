"""Build contexts: the folders that images are built from."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from gem_terminal.engines.mirrors import mirror_settings
from gem_terminal.task import Image

__all__ = ["IMAGES", "beginning_of", "cache_folder", "digest_of"]

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
    for path in sorted(image.folder.rglob("*")):
        if path.is_symlink():
            content = str(path.readlink()).encode()
        elif path.is_file():
            content = path.read_bytes()
        else:
            continue
        mode = path.lstat().st_mode & 0o777
        name = str(path.relative_to(image.folder)).encode(errors="surrogateescape")
        digest.update(b"%d:%s:%o:%d:" % (len(name), name, mode, len(content)) + content)
    return digest.hexdigest()[:24]
