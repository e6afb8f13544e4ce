"""Installs packages of a hub: exactly the listed files, through the user's own installer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata

from packaging.requirements import Requirement

from gem_hub_client.config import Hub
from gem_hub_client.errors import HubError
from gem_hub_client.file_conflicts import check_conflicts
from gem_hub_client.installed import CORE, InstalledPackage, core_version, installed_package, offered_environments
from gem_hub_client.installer import Installer, pinned_line
from gem_hub_client.package_index import PackageIndex
from gem_hub_client.releases import IndexedRelease
from gem_hub_client.resolve import Choice, requirement, resolve
from gem_hub_client.trust.records import check_recorded

__all__ = ["Installation", "Item", "missing_environments", "plan"]

INSTALL, CHANGE, AGAIN, KEEP = "install", "change", "reinstall", "keep"


@dataclass(frozen=True)
class Item:
    """The planned action for one package."""

    choice: Choice
    action: str
    """``install``; ``change`` from another version; ``reinstall``, the same version from another file; ``keep``."""
    before: InstalledPackage | None

    @property
    def release(self) -> IndexedRelease:
        return self.choice.release

    @property
    def warnings(self) -> tuple[str, ...]:
        """Notes on it for the user."""
        if self.before is not None and self.before.folder:
            return (*self.choice.warnings, f"{self.release.name} is installed from a folder of sources, and stays so")
        return self.choice.warnings


@dataclass(frozen=True)
class Installation:
    """The plan for the installation of packages."""

    items: tuple[Item, ...]
    """The requested packages first, then the hub packages that they need."""
    others: tuple[str, ...]
    """Requirements that are not met yet, and that the installer takes from its own index."""
    notes: tuple[str, ...]

    @property
    def pending(self) -> tuple[Item, ...]:
        """The items that need an action."""
        return tuple(item for item in self.items if item.action != KEEP)

    def check(self) -> None:
        """Load the wheels of the plan, and compare their files with what is installed; nothing is written.

        Raises:
            HubError: if a wheel would take the place of a file of another package, or is not the one that is listed.
        """
        check_conflicts((item.release for item in self.pending), [Requirement(other).name for other in self.others])

    def run(self, installer: Installer) -> None:
        """Check the plan, and run it with an installer.

        Raises:
            HubError: if :meth:`check` or the installer fails.
        """
        self.check()
        lines = {item.release.name: pinned_line(item.choice) for item in self.pending}
        stay = [f"{item.release.name}=={item.release.version}" for item in self.items if item.action == KEEP]
        core = installed_package(CORE)
        if core is not None:
            stay.append(f"{CORE}=={core.version}")  # the running code must not be replaced
        again = [lines[item.release.name] for item in self.items if item.action == AGAIN]
        installer.install(list(lines.values()), stay, again)


def plan(names: Sequence[str], hubs: Sequence[Hub]) -> Installation:
    """Plan an installation without changing anything.

    Args:
        names: ``NAME``, ``NAME==VERSION`` or any other requirement of one package.
        hubs: where to look, first come first.

    Raises:
        HubError: if a package is unknown, quarantined, not released yet, or no release of it fits.
    """
    index = PackageIndex(hubs)
    wanted = [requirement(name) for name in names]
    if any(asked.name == CORE for asked in wanted):
        raise HubError(f"{CORE} is what is running and cannot replace itself; run: pip install --upgrade {CORE}")
    resolution = resolve(wanted, index, core_version(), _installed_version)
    items = tuple(_item(choice) for choice in resolution.choices)
    others = tuple(other for other in resolution.others if not _is_met(Requirement(other)))
    check_recorded(item.release for item in items)
    return Installation(items, others, tuple(_clashes(items)))


def missing_environments(items: Sequence[Item]) -> list[str]:
    """Return the ids of installed packages that no manifest on this machine offers."""
    offered = offered_environments()
    return [
        identity
        for item in items
        for identity in item.release.environments
        if item.release.name not in offered.get(identity, ())
    ]


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


def _unreleased(release: IndexedRelease) -> HubError:
    return HubError(
        f"{release.hub.name} lists no file of {release} yet, so there is nothing to check a download against: the "
        f"package is part of GEM's repository. In a copy of that run: pip install ./{release.source}; once it "
        f'is released, your installer has it by name: pip install "{release.name}=={release.version}"'
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
    offered = offered_environments()
    clashes: dict[tuple[str, str], str] = {}
    for item in items:
        for identity in item.release.environments:
            for other in sorted(offered.get(identity, set()) - {item.release.name}):
                clashes.setdefault((item.release.name, other), identity)
    return [
        f"{other} offers {identity} as well as {name}; such an id can only be made with its owner before it"
        for (name, other), identity in clashes.items()
    ]
