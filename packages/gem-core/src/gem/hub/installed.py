"""What is installed beside this gem-core, and from which file, as far as the installer wrote that down."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gem.discovery import ENVIRONMENT_GROUP
from gem.ids import normalized_distribution

if TYPE_CHECKING:
    from importlib.metadata import Distribution

__all__ = ["InstalledPackage", "announcing", "installed_package"]


@dataclass(frozen=True)
class InstalledPackage:
    """One installed distribution."""

    name: str
    version: str
    url: str = ""
    """Where it came from (PEP 610); empty if it was installed by its name."""
    sha256: str = ""
    """Of the file that it came from; empty where the installer did not write it down."""
    folder: bool = False
    """Whether it was installed from a folder of sources, editable or not."""

    def is_file(self, url: str, sha256: str) -> bool | None:
        """Tell whether it came from this file; None if that is not known."""
        if self.sha256:
            return self.sha256 == sha256
        # uv checks the digest that it was given and writes down the address alone.
        return True if self.url and self.url == url else None


def installed_package(name: str) -> InstalledPackage | None:
    """Return an installed distribution; None if there is none of this name."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return _described(distribution(name))
    except PackageNotFoundError:
        return None


def announcing() -> list[InstalledPackage]:
    """Return the distributions that announce environments, disabled ones included, sorted by name."""
    from importlib.metadata import distributions

    found: dict[str, InstalledPackage] = {}
    for distribution in distributions():
        if ENVIRONMENT_GROUP in _groups(distribution):
            package = _described(distribution)
            found.setdefault(package.name, package)  # Python takes the first of two as well
    return [found[name] for name in sorted(found)]


def _groups(distribution: Distribution) -> Iterator[str]:
    try:
        text = distribution.read_text("entry_points.txt") or ""
    except (OSError, UnicodeDecodeError):
        return
    for line in text.splitlines():
        if line.strip().startswith("["):
            yield line.strip().strip("[] ")


def _described(distribution: Distribution) -> InstalledPackage:
    name = normalized_distribution(distribution.metadata["Name"] or "")
    origin = _origin(distribution)
    url = str(origin.get("url", ""))
    archive: Any = origin.get("archive_info")
    hashes = archive.get("hashes") if isinstance(archive, dict) else None
    sha256 = hashes.get("sha256", "") if isinstance(hashes, dict) else ""
    if not sha256 and isinstance(archive, dict):
        # Older installers write "hash", and uv leaves the digest in the address of a local file.
        written = str(archive.get("hash") or url.partition("#")[2])
        sha256 = written.partition("sha256=")[2][:64]
    return InstalledPackage(name, distribution.version, url.partition("#")[0], str(sha256), "dir_info" in origin)


def _origin(distribution: Distribution) -> dict[str, Any]:
    try:
        document = json.loads(distribution.read_text("direct_url.json") or "{}")
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}
