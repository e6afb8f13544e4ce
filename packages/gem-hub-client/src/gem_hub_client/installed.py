"""Installed distributions and their recorded files."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem_hub_client.errors import HubError
from gem_hub_client.names import normalized_name

if sys.version_info >= (3, 11):
    from tomllib import loads
else:
    from tomli import loads

if TYPE_CHECKING:
    from importlib.metadata import Distribution

__all__ = ["CORE", "InstalledPackage", "announcing", "core_version", "installed_package", "offered_environments"]

CORE = "gem-core"
ENVIRONMENT_GROUP = "gem.envs"
"""The group of entry points by which a distribution announces environments: namespace → import name."""
MANIFEST = "environments.toml"


@dataclass(frozen=True)
class InstalledPackage:
    """One installed distribution."""

    name: str
    version: str
    url: str = ""
    """Where it came from (PEP 610); empty if it was installed by its name."""
    sha256: str = ""
    """Of the file that it came from; empty where the installer did not record it."""
    folder: bool = False
    """Whether it was installed from a folder of sources, editable or not."""

    def is_file(self, url: str, sha256: str) -> bool | None:
        """Return whether the package came from this file; None if unknown."""
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


def core_version() -> str:
    """Return the version of the gem-core that is installed.

    Raises:
        HubError: if there is none.
    """
    found = installed_package(CORE)
    if found is None:
        raise HubError(f"{CORE} is not installed, so no release can be chosen that fits it; run: pip install {CORE}")
    return found.version


def announcing() -> list[InstalledPackage]:
    """Return the distributions that declare environments, including disabled ones, sorted by name."""
    from importlib.metadata import distributions

    found: dict[str, InstalledPackage] = {}
    for distribution in distributions():
        if ENVIRONMENT_GROUP in _groups(distribution):
            package = _described(distribution)
            found.setdefault(package.name, package)  # Python takes the first of two as well
    return [found[name] for name in sorted(found)]


def offered_environments() -> dict[str, set[str]]:
    """Return environment id → names of the installed distributions whose manifests offer it.

    No package is imported. A distribution whose announcement or manifest cannot be read offers nothing.
    """
    from importlib.metadata import distributions

    invalidate_caches()  # an installer may just have written files
    offered: dict[str, set[str]] = {}
    for distribution in distributions():
        if ENVIRONMENT_GROUP in _groups(distribution):
            name = normalized_name(distribution.metadata["Name"] or "")
            for identity in _offered(distribution):
                offered.setdefault(identity, set()).add(name)
    return offered


def _offered(distribution: Distribution) -> Iterator[str]:
    """Yield the ids in the manifests of a distribution, with those of the variants."""
    try:
        packages = {point.value for point in distribution.entry_points if point.group == ENVIRONMENT_GROUP}
        for package in sorted(packages):
            for entry in _manifest(package)["environment"]:
                yield entry["id"]
                yield from (f"{entry['id']}-{variant}" for variant in entry.get("variants", ()))
    except (OSError, ImportError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return


def _manifest(package: str) -> dict[str, Any]:
    """Return the manifest beside a package's ``__init__.py``, which is found but not imported."""
    top, *rest = package.split(".")
    spec = find_spec(top)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(package)
    return loads(Path(next(iter(spec.submodule_search_locations)), *rest, MANIFEST).read_text(encoding="utf-8"))


def _groups(distribution: Distribution) -> Iterator[str]:
    try:
        text = distribution.read_text("entry_points.txt") or ""
    except (OSError, UnicodeDecodeError):
        return
    for line in text.splitlines():
        if line.strip().startswith("["):
            yield line.strip().strip("[] ")


def _described(distribution: Distribution) -> InstalledPackage:
    name = normalized_name(distribution.metadata["Name"] or "")
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
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
