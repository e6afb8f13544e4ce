"""Copying the search side of a hub into a package, so that it answers where there is no network."""

from __future__ import annotations

from pathlib import Path

from gem_hub.catalogue import snapshot_feed
from gem_hub.derive import root_bytes
from gem_hub.details import details
from gem_hub.folder import Folder
from gem_hub.package import Package
from gem_hub.truth import Truth

__all__ = ["embed", "embedded_files"]


def embedded_files(packages: list[Package], target: Folder) -> dict[str, bytes]:
    """Return ``root.json``, one snapshot of everything, and ``envs/``, by path.

    Args:
        packages: all of a hub's.
        target: where they are to lie; a snapshot there that holds the same is kept as it is compressed.
    """
    feed = snapshot_feed(packages, target.read)
    pages = {f"envs/{package.name}.json": details(package) for package in packages}
    return {**pages, **feed.files, "root.json": root_bytes(feed.root)}


def embed(truth: Truth, folder: Path, check: bool = False) -> list[str]:
    """Make a folder hold exactly the search side of a hub.

    Args:
        truth: the records and events of the hub.
        folder: where the copy lies.
        check: only compare, and write nothing.

    Returns:
        The paths that differed, sorted.
    """
    target = Folder(folder)
    wanted = embedded_files(list(truth.packages()), target)
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    superseded = {path for path in present - wanted.keys() if path.startswith(("envs/", "catalog/"))}
    differing = sorted({path for path, content in wanted.items() if target.read(path) != content} | superseded)
    if not check:
        for path in differing:
            if path in wanted:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(wanted[path])
            else:
                target.remove(path)
    return differing
