"""Writing a lock file (``pylock.toml``, PEP 751): hub packages and all that they need, with digests.

Hubs say which of their files is meant; the installed pip or uv finds everything else on its own index and writes the
file. What it has written is checked before anybody installs from it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gem_hub_client.config import Hub
from gem_hub_client.errors import HubError
from gem_hub_client.installed import core_version
from gem_hub_client.installer import Installer, pinned_line
from gem_hub_client.lock_file import LockedPackage, read_lock_file
from gem_hub_client.package_index import PackageIndex
from gem_hub_client.registry.token_scope import registry_of
from gem_hub_client.resolve import Choice, Resolution, requirement, resolve
from gem_hub_client.trust.records import check_recorded

__all__ = ["LockResult", "check_name", "lock", "lockable"]

_NAME = re.compile(r"pylock(\.[^.]+)?\.toml")


@dataclass(frozen=True)
class LockResult:
    """The content of a lock file."""

    path: Path
    choices: tuple[Choice, ...]
    packages: int
    """Of hubs and of the installer's index together."""


def check_name(path: Path) -> None:
    """Raise HubError for an invalid file name; installers accept no others (PEP 751)."""
    if _NAME.fullmatch(path.name) is None:
        raise HubError(f"{path.name!r} is no name of a lock file; call it pylock.toml or pylock.NAME.toml")


def lockable(names: Sequence[str], hubs: Sequence[Hub]) -> Resolution:
    """Return the releases to lock.

    Raises:
        HubError: if a package is unknown, quarantined, not released yet, or no release of it fits.
    """
    index = PackageIndex(hubs)
    resolution = resolve([requirement(name) for name in names], index, core_version())
    for choice in resolution.choices:
        if not choice.release.url:
            raise HubError(
                f"{choice.release.hub.name} lists no file of {choice.release} yet, and what has no digest cannot be "
                f"locked; once it is released: pip install {choice.release.name}"
            )
        if registry_of(choice.release.url):
            raise HubError(
                f"{choice.release} is private, and an installer could write the token of its address into the lock "
                f"file; install it by itself: gem hub install {choice.release.name}=={choice.release.version}"
            )
    check_recorded(choice.release for choice in resolution.choices)
    return resolution


def lock(resolution: Resolution, installer: Installer, target: Path) -> LockResult:
    """Write a lock file. An existing one stays as it is if anything fails.

    Raises:
        HubError: if the installer fails, or what it wrote does not hold exactly the files of the hubs.
    """
    check_name(target)
    # In the same folder, because the file may hold paths relative to itself.
    part = target.with_name(f"pylock.part-{os.getpid()}.toml")
    try:
        installer.lock([pinned_line(choice) for choice in resolution.choices], part)
        packages = read_lock_file(part)
        for choice in resolution.choices:
            _check(choice, [package for package in packages if package.name == choice.release.name])
        unpinned = [package.name for package in packages if not package.digests]
        if unpinned:
            raise HubError(
                f"{installer.name} wrote no digest for {', '.join(unpinned[:5])}, so it could be any file; is it "
                "installed from a folder of sources?"
            )
        part.replace(target)
    except OSError as error:
        raise HubError(f"{target}: cannot be written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
    return LockResult(target, resolution.choices, len(packages))


def _check(choice: Choice, locked: Sequence[LockedPackage]) -> None:
    release = choice.release
    if not locked:
        raise HubError(f"the lock file that was written lacks {release}; it was thrown away")
    for package in locked:
        if not package.is_file(release.url, release.sha256):
            raise HubError(
                f"the lock file that was written has another file for {release} than {release.hub.name}; it was thrown "
                f"away: expected sha256 {release.sha256}, found {', '.join(sorted(package.digests)) or 'none'}"
            )
