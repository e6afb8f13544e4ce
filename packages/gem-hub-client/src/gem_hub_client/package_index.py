"""The packages of the chosen hubs for installation and locking, where correctness matters more than speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gem_hub_client.config import Hub
from gem_hub_client.errors import HubError
from gem_hub_client.federated_search import query_catalogue
from gem_hub_client.pages import Page, verified_page
from gem_hub_client.releases import IndexedRelease, releases_of
from gem_hub_client.sanitize import sanitize
from gem_hub_client.search import search
from gem_hub_client.typo import nearest

__all__ = ["IndexedPackage", "PackageIndex"]


@dataclass(frozen=True)
class IndexedPackage:
    """A package in the hub that provides it."""

    hub: Hub
    name: str
    status: str
    """``active``, ``deprecated``, ``quarantined`` or ``archived``."""
    reason: str
    releases: tuple[IndexedRelease, ...]
    """Newest first."""


class PackageIndex:
    """The packages of some hubs; each is asked for once. The first hub that has a name is where it comes from."""

    def __init__(self, hubs: Sequence[Hub]) -> None:
        self.hubs = hubs
        self._packages: dict[str, IndexedPackage | None] = {}

    def package(self, name: str) -> IndexedPackage | None:
        """Return a package by its normalised name; None if no hub has it.

        Raises:
            HubError: if a hub cannot be asked, or its page is refused. Going on to the next could take another package
                of the same name.
        """
        if name not in self._packages:
            self._packages[name] = self._find(name)
        return self._packages[name]

    def unknown(self, name: str) -> HubError:
        """Return the error for an unknown name."""
        where = " or ".join(hub.name for hub in self.hubs)
        close = [hit.record["name"] for hub in self.hubs for hit in self._similar(hub, name)]
        hint = nearest(name, close)
        advice = f"did you mean {hint!r}?" if hint else f"search for a word of it: gem hub search {sanitize(name)}"
        return HubError(f"{where} has no package {name!r}; {advice}")

    def _find(self, name: str) -> IndexedPackage | None:
        for hub in self.hubs:
            found = verified_page(hub, name)
            if found is not None:
                return _package(hub, found.page)
        return None

    def _similar(self, hub: Hub, name: str) -> list[Any]:
        try:
            return list(query_catalogue(hub, lambda opened: search(opened.catalogue, name, 5).hits))
        except HubError:
            return []


def _package(hub: Hub, page: Page) -> IndexedPackage:
    status, reason = page.get("status") or "active", page.get("reason") or ""
    return IndexedPackage(
        hub, page["name"], sanitize(str(status)), sanitize(str(reason)), tuple(releases_of(hub, page))
    )
