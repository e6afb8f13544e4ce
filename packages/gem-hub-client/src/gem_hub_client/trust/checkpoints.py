"""What one machine has seen of a hub's log, in a form that another machine can compare with its own.

A hub that shows one history to one user and another to the next signs two logs that do not continue each other. Neither
user sees that alone. Two checkpoints prove it: each holds the size and the hash of a log, and the hub's own signature
over them; the tiles of the log show whether the longer one begins with the shorter one (RFC 6962, section 2.1.2).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any

from gem_hub_client.config import Hub, hub_at
from gem_hub_client.errors import HubError, TrustError
from gem_hub_client.folders import config_file
from gem_hub_client.trust.log import CHECKPOINT, LogReader, checkpoint_text, follow_log
from gem_hub_client.trust.merkle import tree_hash
from gem_hub_client.trust.metadata import MetaFile, TrustedRoot, known_targets, read_targets
from gem_hub_client.trust.pins import Pin
from gem_hub_client.trust.refresh import TrustedHub, refresh

__all__ = [
    "SeenLog",
    "compare_logs",
    "compare_with_witness",
    "log_of",
    "parse_log",
    "set_witness",
    "witness_of",
]

_HASH = 64
_MOST_EDGE = 64


@dataclass(frozen=True)
class SeenLog:
    """A log as a machine has seen it."""

    hub: str
    """The name of the hub on that machine; another one may call it otherwise."""
    key: str
    """The fingerprint of the root keys that it trusted."""
    restarts: int
    size: int
    """Entries."""
    tree: str
    """The hash of the tree (hexadecimal)."""
    targets: str
    """The signed file of the hub that names the checkpoint with this size and hash."""

    def __str__(self) -> str:
        return f"{self.size:,} entries, tree {self.tree}"

    def to_json(self) -> str:
        """Return the form that :func:`parse_log` reads."""
        return json.dumps({"format": 1, **asdict(self)}, indent=1)


def log_of(hub: Hub, pin: Pin) -> SeenLog:
    """Return what a pin has seen of a hub's log.

    Raises:
        HubError: if the hub has no log.
    """
    if not pin.log_size:
        raise HubError(f"{hub.name}: has no log, so there is nothing to compare")
    root = pin.trusted_root
    tree = tree_hash(tuple(bytes.fromhex(node) for node in pin.log_edge))
    return SeenLog(hub.name, root.fingerprint, root.restarts, pin.log_size, tree.hex(), pin.targets)


def parse_log(text: str, name: str) -> SeenLog:
    """Read what another machine has seen.

    Args:
        text: what ``gem hub checkpoint --json`` printed there.
        name: what to call it in messages.

    Raises:
        HubError: if it is no such text.
    """
    try:
        document: Any = json.loads(text)
        values = {field: document[field] for field in ("hub", "key", "restarts", "size", "tree", "targets")}
        seen = SeenLog(**values)
        if document["format"] != 1 or any(type(value) is not int for value in (seen.restarts, seen.size)):
            raise ValueError("it is not in format 1")
        if len(bytes.fromhex(seen.tree)) * 2 != _HASH or seen.size <= 0 or not isinstance(seen.targets, str):
            raise ValueError("its size or its hash cannot be")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise HubError(f"{name}: is no checkpoint ({error!r}); make one with: gem hub checkpoint --json") from error
    return seen


def compare_logs(hub: Hub, pin: Pin, other: SeenLog) -> str:
    """Compare the log that this machine has seen with another machine's; return in a sentence how they agree.

    Args:
        hub: the hub as this machine reaches it.
        pin: what this machine has just seen of it.
        other: what the other machine has seen.

    Raises:
        TrustError: if the hub has signed two logs that do not continue each other.
        HubError: if they cannot be compared: other keys, a log that was given up in between, or tiles that are missing.
    """
    mine = log_of(hub, pin)
    _check_signed(hub, pin.trusted_root, other)
    if mine.restarts != other.restarts:
        raise HubError(
            f"{hub.name}: its log was begun anew between the two checkpoints (restart {other.restarts} and "
            f"{mine.restarts}), as after the theft of a key; take both after the last restart"
        )
    shorter, longer = sorted((mine, other), key=lambda seen: seen.size)
    if shorter.size == longer.size:
        if shorter.tree != longer.tree:
            raise _split(hub, mine, other)
        return f"{hub.name}: both machines have seen the same log: {mine}"
    reader = LogReader(hub, hub.source, longer.size)
    edge = reader.edge(shorter.size)
    if tree_hash(reader.extended(edge, shorter.size)).hex() != longer.tree:
        if longer is other:
            raise HubError(
                f"{hub.name}: shows this machine {mine.size:,} entries, and does not prove that the other machine's "
                f"{other.size:,} continue them: it is behind here, or it shows two logs; compare again in a while"
            )
        raise TrustError(f"{hub.name}: the tiles of its log contradict its signed checkpoint; nothing was compared")
    if tree_hash(edge).hex() != shorter.tree:
        raise _split(hub, mine, other)
    return f"{hub.name}: the log of {longer.size:,} entries continues the one of {shorter.size:,}"


def compare_with_witness(hub: Hub, trusted: TrustedHub, now: float) -> str:
    """Ask a hub's second address what it shows there; return a sentence, empty if none is configured.

    Raises:
        TrustError: if the two addresses show logs that do not continue each other.
        HubError: if the second one cannot be asked.
    """
    address = witness_of(hub)
    if not address:
        return ""
    second = replace(hub, location=hub_at(address).location)
    there = refresh(second, second.source, trusted.pin.without_history(), now)
    pin = follow_log(second, second.source, there)
    return f"{address}: {compare_logs(hub, trusted.pin, log_of(second, pin))}"


def witness_of(hub: Hub) -> str:
    """Return the second address at which a hub is asked; empty if none is configured."""
    return _witnesses().get(hub.name, "")


def set_witness(hub: Hub, address: str) -> None:
    """Configure the second address of a hub; an empty one removes it.

    Raises:
        HubError: if it is no address of a hub, or the file cannot be written.
    """
    from gem_hub_client.atomic_file import write_whole

    known = _witnesses()
    known.pop(hub.name, None)
    if address:
        known[hub.name] = hub_at(address).location
    path = _witness_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(known, indent=1) + "\n")
    except OSError as error:
        raise HubError(f"{path}: cannot be written: {error.strerror or error}") from error


def _witnesses() -> dict[str, str]:
    path = _witness_file()
    try:
        document: Any = json.loads(path.read_bytes())
        return {str(name): str(address) for name, address in document.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError) as error:
        raise HubError(f"{path}: cannot be read ({error}); remove it, and name the second addresses anew") from error


def _witness_file() -> Any:
    return config_file().with_name("witnesses.json")


def _check_signed(hub: Hub, root: TrustedRoot, other: SeenLog) -> None:
    """Check that the hub itself has signed another machine's checkpoint."""
    content, name = other.targets.encode(), f"the checkpoint of {other.hub}"
    version = known_targets(content, name).version
    signed = read_targets(root, content, MetaFile(version, None, None), name)
    text = checkpoint_text(other.restarts, other.size, bytes.fromhex(other.tree))
    promised = signed.files.get(CHECKPOINT)
    if promised is None or promised.sha256 != sha256(text).hexdigest():
        raise HubError(f"{name}: {hub.name} has not signed this size and this hash; it proves nothing")


def _split(hub: Hub, mine: SeenLog, other: SeenLog) -> TrustError:
    return TrustError(
        f"{hub.name}: HAS SIGNED TWO HISTORIES: this machine was shown {mine}; the other was shown {other}. Keep both "
        "checkpoints, which prove it; install nothing from this hub, and tell its users"
    )
