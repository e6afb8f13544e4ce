"""Whether a name is that of a project on the public index, from which users install everything else.

A package of a hub with such a name takes that project's place wherever installers ask the hub first. So a hub refuses
it, unless the project is shown to be the publisher's: the public index must list the very same wheel. Without an index
to ask and without a filter of its own, a hub knows the names that everybody knows.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from gem_hub.name_filter import FILE_NAME, NameFilter, well_known_names
from gem_hub.policy import FILE_NAME as POLICY
from gem_hub.store import Store
from gem_hub_client.errors import HubError

__all__ = ["PublicIndex", "PublicNames"]

_SECONDS = 30.0
_MOST_PAGE = 64 * 2**20
_ACCEPTED = "application/vnd.pypi.simple.v1+json"


@dataclass(frozen=True)
class PublicIndex:
    """A package index by the simple repository API (PEP 691)."""

    url: str
    """The address of its ``simple/`` folder."""

    def digests(self, name: str) -> set[str] | None:
        """Return the SHA-256 digests of all files of a project; None if there is no such project.

        Raises:
            HubError: if the index does not answer as an index.
        """
        address = f"{self.url.rstrip('/')}/{name}/"
        request = urllib.request.Request(address, headers={"Accept": _ACCEPTED})  # noqa: S310  # the operator's address
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
                document: Any = json.loads(answer.read(_MOST_PAGE))
            return {file["hashes"].get("sha256", "") for file in document["files"]}
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise HubError(f"{address}: answers {error.code}, so that nothing is known of the name") from error
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise HubError(f"{address}: does not answer as a package index: {error}") from error


@dataclass(frozen=True)
class PublicNames:
    """What a hub knows of the names of the public index."""

    index: PublicIndex | None = None
    """The index itself, to look up names singly."""
    names: NameFilter | None = None
    """A filter of its names; without one, the well-known names count."""
    guarded: bool = False
    """Whether a name of which nothing is known is refused."""

    @classmethod
    def of(cls, store: Store, guarded: bool, index_url: str = "") -> PublicNames:
        """Return what a hub knows.

        Args:
            store: the hub.
            guarded: see :attr:`guarded`.
            index_url: the index to ask; where it is empty, the one to which the hub sends installers for other names.

        Raises:
            HubError: if the filter in its folder is damaged.
        """
        content = store.files.read(FILE_NAME)
        names = None if content is None else NameFilter.from_bytes(content, f"{store.files.address}/{FILE_NAME}")
        asked = index_url or store.truth.settings().fallback
        return cls(PublicIndex(asked) if asked else None, names, guarded)

    def objection(self, name: str, sha256: str) -> str:
        """Return the reason why a hub refuses a name; empty if it may have it.

        Args:
            name: the normalised name.
            sha256: the digest of the wheel that is to be published.
        """
        if self.index is not None:
            try:
                digests = self.index.digests(name)
            except HubError as error:
                return f"cannot be looked up: {error}"
            if digests is None or sha256 in digests:
                return ""
            return (
                "is a project of the public index, which does not list this wheel; publish the wheel there first, or "
                "choose another name"
            )
        names = self.names or well_known_names()
        if name in names:
            return (
                f"is a project of the public index, or what one is imported as (as of {names.date}); if it is yours, "
                "publish with --public-index, which must list this wheel; if it is a false alarm, the operator can add "
                f'"accepted": {{"{name}": {{"name.public": "REASON"}}}} to {POLICY}'
            )
        if self.names is None and self.guarded:
            return "may be a project of the public index; publish with --public-index, which looks it up"
        return ""
