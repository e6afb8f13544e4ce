"""The keys that this machine trusts for each hub, and the newest signed metadata that it has seen of it.

One file a hub lies in the configuration folder, not in the cache: who empties a cache must not trust new keys by that.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from gem_hub_client.atomic_file import write_whole
from gem_hub_client.config import Hub
from gem_hub_client.errors import HubError, TrustError
from gem_hub_client.folders import config_file
from gem_hub_client.trust.metadata import TrustedRoot, known_root

__all__ = ["Pin", "forget_pin", "new_pin", "pin_path", "read_pin", "write_pin"]


@dataclass(frozen=True)
class Pin:
    """What is trusted of one hub. The texts are those of signed files that were verified."""

    hub: str
    """Its name."""
    root: str
    since: str
    """When its keys were first trusted (UTC)."""
    first: str = ""
    """The SHA-256 of the root with which trust began."""
    timestamp: str = ""
    snapshot: str = ""
    targets: str = ""
    etag: str = ""
    """The server's validators of the timestamp."""
    modified: str = ""
    log_size: int = 0
    """How many entries the hub's log had."""
    log_digest: str = ""
    """The SHA-256 of its checkpoint."""
    log_edge: tuple[str, ...] = ()
    """The hashes (hexadecimal) of its largest complete subtrees, from left to right."""

    @property
    def trusted_root(self) -> TrustedRoot:
        return known_root(self.root.encode(), f"the pinned keys of {self.hub}")

    def without_history(self) -> Pin:
        """Return a pin with the same keys that has seen nothing yet."""
        return Pin(self.hub, self.root, self.since, self.first)


def new_pin(hub: Hub, root: bytes, since: str) -> Pin:
    """Return the pin with which trust in a verified root begins."""
    return Pin(hub.name, root.decode(), since, sha256(root).hexdigest())


def pin_path(hub: Hub) -> Path:
    """Return the path of the file that holds a hub's pin."""
    return config_file().with_name("keys") / f"{sha256(hub.name.encode()).hexdigest()[:32]}.json"


def read_pin(hub: Hub) -> Pin | None:
    """Return what is trusted of a hub; None if none of its keys were ever seen.

    Raises:
        TrustError: if the file cannot be read. To go on without it would be to trust any keys.
    """
    path = pin_path(hub)
    try:
        document: Any = json.loads(path.read_bytes())
        names = {field.name for field in fields(Pin)}
        pin = Pin(**{name: value for name, value in document.items() if name in names})
        edge: Sequence[Any] = pin.log_edge
        pin = replace(pin, log_edge=tuple(str(node) for node in edge))
        blank = Pin("", "", "")
        if any(type(getattr(pin, field)) is not type(getattr(blank, field)) for field in names) or pin.hub != hub.name:
            raise ValueError("it is not in format 1")
        _ = pin.trusted_root
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, AttributeError, RecursionError, TrustError) as error:
        raise TrustError(
            f"{path}: the trusted keys of {hub.name} cannot be read ({error}); put the file back from a copy, or trust "
            f"the hub's keys anew: gem hub use {hub.name} --forget-key"
        ) from error
    return pin


def write_pin(hub: Hub, pin: Pin) -> None:
    """Remember what is trusted of a hub.

    Raises:
        HubError: if it cannot be written.
    """
    path = pin_path(hub)
    text = json.dumps({"format": 1, **asdict(pin)}, indent=1) + "\n"
    try:
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    except OSError as error:
        raise HubError(
            f"{path}: the keys of {hub.name} cannot be remembered: {error.strerror or error}; set XDG_CONFIG_HOME to "
            "another folder"
        ) from error


def forget_pin(hub: Hub) -> None:
    """Forget the keys of a hub."""
    pin_path(hub).unlink(missing_ok=True)
