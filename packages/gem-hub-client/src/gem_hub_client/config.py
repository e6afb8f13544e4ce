"""The configured hubs, their order, and the folders in which the client caches what it reads from them.

``GEM_HUB`` names one or several, separated by spaces; without it ``hubs.json`` in the configuration folder does
(``gem hub use`` writes it); without either there is ``official``: the snapshot of the official index that ships inside
gem-hub-client, which needs no network. After ``gem hub update`` it is the index that the project publishes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gem_hub_client.atomic_file import write_whole
from gem_hub_client.errors import HubError
from gem_hub_client.folders import cache_root, config_file
from gem_hub_client.names import ROOT_PATH, TIMESTAMP_PATH
from gem_hub_client.official import MIRROR, published_address, snapshot_folder

if TYPE_CHECKING:
    from gem_hub_client.transport import HubSource

__all__ = [
    "OFFICIAL",
    "VARIABLE",
    "Hub",
    "hub_at",
    "hubs",
    "published_hub",
    "use",
]

OFFICIAL = "official"
VARIABLE = "GEM_HUB"


@dataclass(frozen=True)
class Hub:
    """A hub: its name in output, and the place of its ``root.json``."""

    name: str
    """Its address; ``"official"`` for the snapshot inside gem-hub-client."""
    location: str
    """``http://`` or ``https://`` and a path that ends in ``/``, or an absolute path of a folder."""

    @property
    def remote(self) -> bool:
        """Whether reaching it takes a network."""
        return self.location.startswith(("http://", "https://"))

    @property
    def embedded(self) -> bool:
        """Whether it is the snapshot inside gem-hub-client, which is as trustworthy as the package itself."""
        return self.name == OFFICIAL and not self.remote

    @property
    def source(self) -> HubSource:
        """The reader of the hub's files."""
        from gem_hub_client.transport import FolderSource, WebSource

        return WebSource(self.location) if self.remote else FolderSource(Path(self.location))

    @property
    def cache(self) -> Path:
        """The folder that caches the catalogue and pages of this hub."""
        # Another version of the client may bring an older or newer snapshot; each snapshot has a cache of its own.
        if self.embedded:
            key = (Path(self.location) / ROOT_PATH).read_bytes()
        else:  # somebody may also use the place of the official index under its address, with pinned keys
            key = (f"{OFFICIAL} {self.location}" if self.name == OFFICIAL else self.location).encode()
        return cache_root() / hashlib.sha256(key).hexdigest()[:32]


def hubs(only: str | None = None) -> tuple[Hub, ...]:
    """Return the hubs to search, first come first.

    Args:
        only: the address of the one hub to search, in place of those in use.

    Raises:
        HubError: if ``only``, ``GEM_HUB`` or the configuration file names something that is no hub's address.
    """
    if only is not None:
        return (hub_at(only),)
    addresses = os.environ.get(VARIABLE, "").split() or _configured() or [OFFICIAL]
    return tuple(dict.fromkeys(hub_at(address) for address in addresses))


def hub_at(address: str) -> Hub:
    """Return the hub at an address: ``official``, ``https://…``, ``http://…``, ``file://…`` or a folder's path.

    Raises:
        HubError: if the address is of no such form.
    """
    if address == OFFICIAL:
        return _official()
    scheme, separator, rest = address.partition("://")
    if not separator:
        try:
            folder = str(Path(address).expanduser().absolute())
        except RuntimeError as error:  # ~NAME without an account of that name
            raise HubError(f"{address!r}: {error}") from error
        return Hub(folder, folder)
    if scheme.lower() == "file":
        from urllib.request import url2pathname

        host, slash, path = rest.partition("/")
        if host not in ("", "localhost") or not slash:
            raise HubError(f"{address!r} is no folder on this machine; write file:///path/of/the/hub")
        folder = str(Path(url2pathname(f"/{path}")).absolute())
        return Hub(folder, folder)
    if scheme.lower() in ("http", "https"):
        host = rest.partition("/")[0]
        if not _is_host(host) or not re.fullmatch(r"[!-~]+", address) or any(mark in address for mark in "?#\\"):
            raise HubError(
                f"{scheme}://{host.rpartition('@')[2]}… cannot be a hub's address; write https://host/path/ "
                "without user name, '?' or '#'"
            )
        location = f"{scheme.lower()}://{rest.rstrip('/')}/"
        return Hub(location, location)
    raise HubError(f"{address!r} is no hub's address; write https://…, http://…, file://… or the path of a folder")


def _is_host(text: str) -> bool:
    """Return whether a text is a host with a port or without, and without a user."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(f"//{text}")
        return bool(parts.hostname) and "@" not in text and (parts.port is None or parts.port > 0)
    except ValueError:  # brackets that hold no address of IPv6, or a port that is none
        return False


def published_hub() -> Hub | None:
    """Return the official hub as the project publishes it; None if this build of the client knows no place.

    Raises:
        HubError: if the place is no address of a web server.
    """
    address = published_address()
    if not address:
        return None
    published = hub_at(address)
    if not published.remote:
        raise HubError(f"{address!r} cannot be the place of the official index; {MIRROR} must name an http address")
    return Hub(OFFICIAL, published.location)


def _official() -> Hub:
    """Return the newer one of the published index, if it was ever loaded, and the snapshot inside this package."""
    from gem_hub_client.state import State  # which needs this module

    embedded = Hub(OFFICIAL, str(snapshot_folder()))
    published = published_hub()
    if published is None:
        return embedded
    loaded = State.read(published.cache)
    if not loaded.database:
        return embedded
    try:
        carried = (Path(embedded.location) / TIMESTAMP_PATH).read_text(encoding="utf-8")
    except OSError:
        return published  # only a release carries a signed index, which can be compared
    return published if _signed_version(loaded.signed) >= _signed_version(carried) else embedded


def _signed_version(timestamp: str) -> int:
    try:
        return int(json.loads(timestamp)["signed"]["version"])
    except (ValueError, KeyError, TypeError):
        return 0


def use(chosen: Iterable[Hub]) -> Path:
    """Write the configuration file; no hubs at all means the default again. Returns the file."""
    names = [hub.name for hub in chosen]
    target = config_file()
    try:
        if names:
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, json.dumps({"format": 1, "hubs": names}, indent=2) + "\n")
        else:
            target.unlink(missing_ok=True)
    except OSError as error:
        raise HubError(f"{target}: cannot be written: {error.strerror or error}") from error
    return target


def _configured() -> list[str]:
    target = config_file()
    try:
        text = target.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise HubError(f"{target}: cannot be read: {error}; run: gem hub use official") from error
    try:
        document = json.loads(text)
        addresses = document["hubs"]
        if document["format"] != 1 or not all(isinstance(address, str) for address in addresses):
            raise ValueError("not in format 1")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise HubError(f"{target}: does not list hubs ({error!r}); run: gem hub use official") from error
    return list(addresses)
