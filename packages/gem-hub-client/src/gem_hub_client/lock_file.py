"""Reading lock files (``pylock.toml``, PEP 751): each package with the digests of the files that it may come from."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from gem_hub_client.errors import HubError
from gem_hub_client.names import normalized_name

if sys.version_info >= (3, 11):
    from tomllib import loads
else:
    from tomli import loads

__all__ = ["LockedPackage", "read_lock_file"]


@dataclass(frozen=True)
class LockedPackage:
    """One entry of ``packages``."""

    name: str
    """Normalised (PEP 503)."""
    version: str
    """As written, or else that of the wheel's file name; empty where neither says it."""
    url: str
    """Where its first file lies: an address, a path or the place of a repository; empty where the index knows it."""
    digests: frozenset[str]
    """The sha256 of every file that it may be installed from; empty if one of them has none."""
    folder: bool
    """Whether it comes from a folder or a version control system, so that no digest can pin it."""

    def is_file(self, url: str, sha256: str) -> bool:
        """Return whether an installation can take this file alone, whatever its address."""
        return self.digests == {sha256}


def read_lock_file(path: Path) -> list[LockedPackage]:
    """Return the packages of a lock file, in its order; one name may stand there several times, with other markers.

    Raises:
        HubError: if the file cannot be read, or is no lock file.
    """
    try:
        document = loads(path.read_text(encoding="utf-8"))
        if not str(document["lock-version"]).startswith("1."):
            raise HubError(f"{path}: is of lock-version {document['lock-version']!r}, and this client reads 1.x")
        return [_package(entry) for entry in document["packages"]]
    except OSError as error:
        raise HubError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise HubError(
            f"{path}: is no lock file of PEP 751 ({error!r}); write one with: gem hub lock, uv export --format "
            "pylock.toml, or pip lock"
        ) from error


def _package(entry: Mapping[str, Any]) -> LockedPackage:
    files = [entry[key] for key in ("archive", "sdist") if key in entry] + list(entry.get("wheels", ()))
    sources = [entry[key] for key in ("vcs", "directory") if key in entry]
    digests = [str(file.get("hashes", {}).get("sha256", "")) for file in files]
    first: Mapping[str, Any] = next(iter([*files, *sources]), {})
    url = str(first.get("url") or first.get("path") or "")
    return LockedPackage(
        name=normalized_name(entry["name"]),
        version=str(entry.get("version") or _version_in(url)),
        url=url,
        digests=frozenset(digests) if all(digests) else frozenset(),
        folder=bool(sources),
    )


def _version_in(url: str) -> str:
    """Return the version in the file name of a wheel; empty if it is none. Installers write no other for archives."""
    try:
        return str(parse_wheel_filename(unquote(urlsplit(url).path.rpartition("/")[2]))[1])
    except (InvalidWheelFilename, ValueError):
        return ""
