"""Brings what a client trusts of a hub up to date: the client workflow of TUF 1.0, section 5.

Every file is loaded with a limit, verified before use, and accepted only if nothing in it is older than what was seen.
An index that has expired is verified all the same; the caller decides for what it is still good.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, replace

from gem_hub_client.config import Hub
from gem_hub_client.errors import MissingFileError, TrustError
from gem_hub_client.names import TIMESTAMP_PATH
from gem_hub_client.state import utc
from gem_hub_client.transport import TIMEOUT, HubSource, Validators
from gem_hub_client.trust.metadata import (
    FileDigest,
    SignedTargets,
    TrustedRoot,
    check_file,
    first_root,
    known_snapshot,
    known_targets,
    known_timestamp,
    next_root,
    read_snapshot,
    read_targets,
    read_timestamp,
)
from gem_hub_client.trust.pins import Pin, new_pin

__all__ = ["FOLDER", "TrustedHub", "first_pin", "leads_to", "read_target", "refresh"]

FOLDER = "trust"
"""The folder of a hub that holds its signed metadata."""

_ROOT_LIMIT = 64_000
_TIMESTAMP_LIMIT = 16_000
_LIMIT = 64_000
"""Bytes that each kind of file may have; a hub with ten root keys needs a tenth."""
_MOST_ROOTS = 256
"""How many roots one refresh follows."""


@dataclass(frozen=True)
class TrustedHub:
    """What is trusted of a hub after a refresh."""

    pin: Pin
    root: TrustedRoot
    targets: SignedTargets
    expires: str
    """The first moment (UTC) at which a signed file is not valid any more."""
    expired: bool
    restarted: bool
    """Whether the threshold of the root keys asks clients to forget the history that they remember."""

    def promised(self, path: str) -> FileDigest:
        """Return size and digest of a target; raises TrustError if there is no such target."""
        found = self.targets.files.get(path)
        if found is None:
            raise TrustError(f"{self.pin.hub}: its signed files do not name {path}; nothing of it was used")
        return found


def first_pin(hub: Hub, source: HubSource, now: float, wanted: str = "", timeout: float = TIMEOUT) -> Pin | None:
    """Return a pin of the keys that a hub shows; None if it shows none.

    Args:
        hub: which one.
        source: reads its files.
        now: the time, in seconds since the epoch.
        wanted: a fingerprint that one of its roots must have; the first root is taken if it is empty.
        timeout: seconds that the server may be silent before it answers.

    Raises:
        TrustError: if a root is invalid, or none has the wanted fingerprint.
    """
    found = ""
    for version in range(1, _MOST_ROOTS + 1):
        path = f"{FOLDER}/{version}.root.json"
        content = _optional(source, path, _ROOT_LIMIT, timeout)
        if content is None:
            break
        root = first_root(content, _name_of(hub, path))
        if root.version != version:
            raise TrustError(f"{_name_of(hub, path)}: has version {root.version}")
        if not wanted or root.fingerprint == wanted:
            return new_pin(hub, content, utc(now))
        found = root.fingerprint
    if wanted:
        shown = f"its newest key is {found}" if found else "it is not signed at all"
        raise TrustError(f"{hub.name}: does not have the key {wanted}; {shown}. Nothing of it was used")
    return None


def refresh(hub: Hub, source: HubSource, pin: Pin, now: float, timeout: float = TIMEOUT) -> TrustedHub:
    """Load and verify what has been signed since a pin was written.

    Args:
        hub: which one.
        source: reads its files.
        pin: what is trusted of it; see :func:`first_pin`.
        now: the time, in seconds since the epoch.
        timeout: seconds that the server may be silent before it answers.

    Raises:
        TrustError: if a file is missing, invalid, not signed as it must be, or older than what was seen before.
        HubError: if the hub cannot be reached.
    """
    before = pin.trusted_root
    pin, root = _newest_root(hub, source, pin, before, timeout)
    if root.version > before.version and not _still_valid(pin, root):
        # The keys of the other files were replaced, so their versions count anew: whoever stole a key may have set
        # them as high as they go (section 5.3.11 of the specification).
        pin = replace(pin.without_history(), log_size=pin.log_size, log_edge=pin.log_edge, log_digest=pin.log_digest)
    restarted = root.restarts > before.restarts
    if restarted:
        pin = pin.without_history()
    pin = _with_timestamp(hub, source, pin, root, timeout)
    timestamp = known_timestamp(pin.timestamp.encode(), _name_of(hub, TIMESTAMP_PATH))
    pin = _with_snapshot(hub, source, pin, root)
    snapshot = known_snapshot(pin.snapshot.encode(), _name_of(hub, f"{FOLDER}/snapshot.json"))
    pin = _with_targets(hub, source, pin, root)
    targets = known_targets(pin.targets.encode(), _name_of(hub, f"{FOLDER}/targets.json"))
    expires = min(root.expires, timestamp.expires, snapshot.expires, targets.expires)
    return TrustedHub(pin, root, targets, expires, expires <= utc(now), restarted)


def leads_to(hub: Hub, source: HubSource, older: TrustedRoot, newer: TrustedRoot, timeout: float = TIMEOUT) -> bool:
    """Return whether a hub shows how one root became another: each signed by the keys of the one before it.

    Raises:
        HubError: if the hub cannot be reached.
    """
    if newer.version - older.version > _MOST_ROOTS:
        return False
    root = older
    while root.version < newer.version:
        path = f"{FOLDER}/{root.version + 1}.root.json"
        content = _optional(source, path, _ROOT_LIMIT, timeout)
        if content is None:
            return False
        try:
            root = next_root(root, content, _name_of(hub, path))
        except TrustError:
            return False
    return root.content == newer.content


def read_target(hub: Hub, source: HubSource, trusted: TrustedHub, path: str, limit: int) -> bytes:
    """Return the signed bytes of a target.

    Raises:
        TrustError: if there is no such target, it is too large, or the hub serves other bytes.
        HubError: if it cannot be read.
    """
    promised = trusted.promised(path)
    if promised.length > limit:
        raise TrustError(f"{hub.name}: {path} has {promised.length:,} bytes, and more than {limit:,} are too many")
    folder, name = posixpath.split(path)
    place = posixpath.join(FOLDER, "targets", folder, f"{promised.sha256}.{name}") if trusted.root.consistent else path
    content = source.read(place, promised.length).content
    assert content is not None  # nothing was said to be known
    check_file(content, promised, _name_of(hub, place))
    return content


def _newest_root(hub: Hub, source: HubSource, pin: Pin, root: TrustedRoot, timeout: float) -> tuple[Pin, TrustedRoot]:
    for version in range(root.version + 1, root.version + 1 + _MOST_ROOTS):
        path = f"{FOLDER}/{version}.root.json"
        content = _optional(source, path, _ROOT_LIMIT, timeout)
        if content is None:
            return pin, root
        root = next_root(root, content, _name_of(hub, path))
        pin = replace(pin, root=content.decode())
    raise TrustError(f"{hub.name}: has more than {_MOST_ROOTS} new roots, which no hub has")


def _still_valid(pin: Pin, root: TrustedRoot) -> bool:
    if not pin.timestamp:
        return False
    try:
        timestamp = read_timestamp(root, pin.timestamp.encode(), "")
        snapshot = read_snapshot(root, pin.snapshot.encode(), timestamp.snapshot, "")
        read_targets(root, pin.targets.encode(), snapshot.files["targets.json"], "")
    except TrustError:
        return False
    return True


def _with_timestamp(hub: Hub, source: HubSource, pin: Pin, root: TrustedRoot, timeout: float) -> Pin:
    path = TIMESTAMP_PATH
    name = _name_of(hub, path)
    known = Validators(pin.etag, pin.modified) if pin.timestamp else None
    try:
        reply = source.read(path, _TIMESTAMP_LIMIT, known, timeout)
    except MissingFileError as error:
        raise TrustError(
            f"{name}: is missing, and this machine trusts only what is signed with the key {root.fingerprint}; nothing "
            f"was used. Ask its operator; if signing was given up, run: gem hub use {hub.name} --forget-key"
        ) from error
    if reply.content is None or reply.content == pin.timestamp.encode():
        return replace(pin, etag=reply.validators.etag, modified=reply.validators.modified)
    fresh = read_timestamp(root, reply.content, name)
    if pin.timestamp:
        seen = known_timestamp(pin.timestamp.encode(), name)
        if fresh.version < seen.version:
            raise TrustError(_older(name, fresh.version, seen.version))
        if fresh.version == seen.version:  # another signature over the same version
            return pin
        if fresh.snapshot.version < seen.snapshot.version:
            raise TrustError(_older(f"{name}: the snapshot in it", fresh.snapshot.version, seen.snapshot.version))
    return replace(
        pin, timestamp=reply.content.decode(), etag=reply.validators.etag, modified=reply.validators.modified
    )


def _with_snapshot(hub: Hub, source: HubSource, pin: Pin, root: TrustedRoot) -> Pin:
    promised = known_timestamp(pin.timestamp.encode(), hub.name).snapshot
    before = known_snapshot(pin.snapshot.encode(), hub.name) if pin.snapshot else None
    if before is not None and before.version == promised.version and _has_digest(pin.snapshot, promised.sha256):
        return pin
    path = f"{FOLDER}/{promised.version}.snapshot.json" if root.consistent else f"{FOLDER}/snapshot.json"
    content = _required(source, path)
    fresh = read_snapshot(root, content, promised, _name_of(hub, path))
    for file, seen in before.files.items() if before is not None else ():
        if file not in fresh.files:
            raise TrustError(f"{_name_of(hub, path)}: no longer names {file}, as it did before")
        if fresh.files[file].version < seen.version:
            raise TrustError(_older(f"{_name_of(hub, path)}: {file} in it", fresh.files[file].version, seen.version))
    return replace(pin, snapshot=content.decode())


def _with_targets(hub: Hub, source: HubSource, pin: Pin, root: TrustedRoot) -> Pin:
    promised = known_snapshot(pin.snapshot.encode(), hub.name).files["targets.json"]
    before = known_targets(pin.targets.encode(), hub.name) if pin.targets else None
    if before is not None and before.version == promised.version and _has_digest(pin.targets, promised.sha256):
        return pin
    path = f"{FOLDER}/{promised.version}.targets.json" if root.consistent else f"{FOLDER}/targets.json"
    content = _required(source, path)
    read_targets(root, content, promised, _name_of(hub, path))
    return replace(pin, targets=content.decode())


def _has_digest(text: str, sha256: str | None) -> bool:
    from hashlib import sha256 as digest

    return sha256 is None or digest(text.encode()).hexdigest() == sha256


def _older(name: str, version: int, seen: int) -> str:
    return (
        f"{name}: is older (version {version}) than the one seen before (version {seen}), so changes such as yanks "
        "would be undone; it was not used"
    )


def _required(source: HubSource, path: str) -> bytes:
    content = source.read(path, _LIMIT).content
    assert content is not None  # nothing was said to be known
    return content


def _optional(source: HubSource, path: str, limit: int, timeout: float) -> bytes | None:
    try:
        return source.read(path, limit, None, timeout).content
    except MissingFileError:
        return None


def _name_of(hub: Hub, path: str) -> str:
    return f"{hub.location}{path}" if hub.remote else f"{hub.location.rstrip('/')}/{path}"
