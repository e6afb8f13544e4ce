"""Installing packages of a hub: exactly the files that it lists, by the user's own installer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import gem
from gem import discovery
from gem.errors import HubError
from gem.hub.config import Hub
from gem.hub.installed import InstalledPackage, installed_package
from gem.hub.installer import Installer, pinned_line
from gem.hub.releases import CORE, Release
from gem.hub.resolve import Choice, requirement, resolve
from gem.hub.shelf import Shelf
from gem.ids import parse_id
from gem.official import install_line

__all__ = ["Installation", "Item", "missing_environments", "plan"]

INSTALL, CHANGE, AGAIN, KEEP = "install", "change", "reinstall", "keep"


@dataclass(frozen=True)
class Item:
    """What is to be done about one package."""

    choice: Choice
    action: str
    """``install``; ``change`` from another version; ``reinstall``, the same version from another file; ``keep``."""
    before: InstalledPackage | None

    @property
    def release(self) -> Release:
        return self.choice.release

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know about it."""
        if self.before is not None and self.before.folder:
            return (*self.choice.warnings, f"{self.release.name} is installed from a folder of sources, and stays so")
        return self.choice.warnings


@dataclass(frozen=True)
class Installation:
    """Everything that installing some packages comes to."""

    items: tuple[Item, ...]
    """What was asked for first, then the hub packages that it needs."""
    others: tuple[str, ...]
    """Requirements that are not met yet, and that the installer takes from its own index."""
    notes: tuple[str, ...]

    @property
    def pending(self) -> tuple[Item, ...]:
        """The items for which there is something to do."""
        return tuple(item for item in self.items if item.action != KEEP)

    def run(self, installer: Installer) -> None:
        """Let an installer do it.

        Raises:
            HubError: if it fails.
        """
        lines = {item.release.name: pinned_line(item.choice) for item in self.pending}
        stay = [f"{item.release.name}=={item.release.version}" for item in self.items if item.action == KEEP]
        core = installed_package(CORE)
        if core is not None:
            stay.append(f"{CORE}=={core.version}")  # the code that is running is not to be replaced
        again = [lines[item.release.name] for item in self.items if item.action == AGAIN]
        installer.install(list(lines.values()), stay, again)
        discovery.clear_caches()


def plan(names: Sequence[str], hubs: Sequence[Hub]) -> Installation:
    """Find out what installing packages takes; nothing is changed.

    Args:
        names: ``NAME``, ``NAME==VERSION`` or any other requirement of one package.
        hubs: where to look, first come first.

    Raises:
        HubError: if a package is unknown, quarantined, not released yet, or no release of it fits.
    """
    shelf = Shelf(hubs)
    wanted = [requirement(name) for name in names]
    if any(asked.name == CORE for asked in wanted):
        raise HubError(f"{CORE} is what is running and cannot replace itself; run: {install_line(f'--upgrade {CORE}')}")
    resolution = resolve(wanted, shelf, gem.__version__, _installed_version)
    items = tuple(_item(choice) for choice in resolution.choices)
    others = tuple(other for other in resolution.others if not _is_met(Requirement(other)))
    notes = [*shelf.notes, *_clashes(items)]
    return Installation(items, others, tuple(notes))


def missing_environments(items: Sequence[Item]) -> list[str]:
    """Return the ids that should be there after an installation, and are not found."""
    missing = []
    for item in items:
        for identity in item.release.environments:
            offered = discovery.installed(parse_id(identity).namespace).specs.get(identity, ())
            if item.release.name not in {canonicalize_name(spec.distribution or "") for spec in offered}:
                missing.append(identity)
    return missing


def _installed_version(name: str) -> str | None:
    found = installed_package(name)
    return None if found is None else found.version


def _item(choice: Choice) -> Item:
    release, before = choice.release, installed_package(choice.release.name)
    same = before is not None and before.version == str(release.version)
    if before is not None and before.folder:
        if not same:
            raise HubError(
                f"{release.name} {before.version} is installed from a folder of sources ({before.url}), and "
                f"{release.version} would take its place; uninstall it first"
            )
        return Item(choice, KEEP, before)
    if same and (release.source or (before is not None and before.is_file(release.url, release.sha256))):
        return Item(choice, KEEP, before)
    if release.source:
        raise _unreleased(release)
    if not release.url:
        raise HubError(f"{release.hub.name}: lists no file for {release}")
    if before is None:
        return Item(choice, INSTALL, None)
    return Item(choice, AGAIN if same else CHANGE, before)


def _unreleased(release: Release) -> HubError:
    by_name = install_line(f'"{release.name}=={release.version}"')
    return HubError(
        f"{release.hub.name} lists no file of {release} yet, so there is nothing to check a download against: the "
        f"package is part of GEM's repository. In a copy of that run: {install_line(f'./{release.source}')}; once it "
        f"is released, your installer has it by name: {by_name}"
    )


def _is_met(needed: Requirement) -> bool:
    try:
        version = metadata.version(needed.name)
    except metadata.PackageNotFoundError:
        return False
    # Extras may bring more than is there.
    return not needed.extras and needed.specifier.contains(version, prereleases=True)


def _clashes(items: Sequence[Item]) -> list[str]:
    """Return a sentence for each other installed package that offers one of the same environments."""
    clashes: dict[tuple[str, str], str] = {}
    for item in items:
        for identity in item.release.environments:
            for spec in discovery.installed(parse_id(identity).namespace).specs.get(identity, ()):
                other = canonicalize_name(spec.distribution or "")
                if other and other != item.release.name:
                    clashes.setdefault((item.release.name, other), identity)
    return [
        f"{other} offers {identity} as well as {name}; such an id can only be made with its owner before it"
        for (name, other), identity in clashes.items()
    ]
