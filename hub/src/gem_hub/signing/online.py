"""Signs a hub after each change, with the one key that the hub's own machine holds."""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from securesystemslib.signer import CryptoSigner, Key
from tuf.api.metadata import Metadata, MetaFile, Root, Snapshot, TargetFile, Targets, Timestamp
from tuf.api.serialization import DeserializationError
from tuf.api.serialization.json import JSONSerializer

from gem_hub.errors import HubRefusal
from gem_hub.hosting import Settings
from gem_hub.signing.keys import create_key, load_key, public_name
from gem_hub.signing.log import continue_log
from gem_hub.signing.roots import FOLDER, newest_root
from gem_hub.storage import PRIVATE, HubFiles, HubFolder
from gem_hub_client.errors import HubError
from gem_hub_client.trust.log import CHECKPOINT

__all__ = ["ONLINE_KEY", "VALID_DAYS", "is_due", "key_path", "new_online_key", "online_key", "sign_changes"]

ONLINE_KEY = "GEM_HUB_ONLINE_KEY"
"""The environment variable that names the file of the online key."""
VALID_DAYS = 14
"""Days for which a signature counts where ``hub.json`` does not say."""
_DAY = 86_400.0
_KEPT = 20
"""Superseded versions that stay for clients that are just reading them."""
_PRIVATE_KEY = f"{PRIVATE}/keys/online.pem"


def sign_changes(
    files: HubFiles,
    *,
    renew: bool = False,
    newest: bytes | None = None,
    signer: CryptoSigner | None = None,
    now: float | None = None,
) -> bool:
    """Sign what has changed in a hub since it was last signed; do nothing in a hub without keys.

    The caller holds the hub's lock. ``timestamp.json`` is written last; until then readers see the state before.

    Args:
        files: the hub.
        renew: sign also if nothing has changed, so that the signatures count for longer.
        newest: the file of the newest record or event, which spares a search for it.
        signer: the online key; the one that :func:`online_key` finds if None.
        now: the time, in seconds since the epoch; that of this machine's clock if None.

    Returns:
        Whether something was signed.

    Raises:
        HubRefusal: if the hub has keys and its online key is not here.
        HubError: if its signed metadata is damaged.
    """
    root = newest_root(files)
    if root is None:
        return False
    signer = signer if signer is not None else online_key(files, root.signed)
    restarts = root.signed.unrecognized_fields.get("gem", {}).get("restarts", 0)
    index = files.read("root.json") or b""
    targets = {"root.json": index, CHECKPOINT: continue_log(files, restarts, _serial(index), newest)}
    found = {path: TargetFile.from_data(path, content, ["sha256"]) for path, content in targets.items()}
    before = _current(files)
    role = root.signed.roles["targets"]
    if not renew and before is not None and before.signed.targets == found and set(before.signatures) == {*role.keyids}:
        return False
    now = time.time() if now is None else now
    version = max(int(now), before.signed.version + 1 if before is not None else 1)
    expires = (datetime.fromtimestamp(now, timezone.utc) + _validity(files)).replace(microsecond=0)
    for path, content in targets.items():
        folder, name = posixpath.split(path)
        place = posixpath.join(FOLDER, "targets", folder, f"{hashlib.sha256(content).hexdigest()}.{name}")
        files.replace(place, content)
    signed = _signed(Targets(version, expires=expires, targets=found), signer)
    files.replace(f"{FOLDER}/{version}.targets.json", signed)
    signed = _signed(Snapshot(version, expires=expires, meta={"targets.json": _meta(version, signed)}), signer)
    files.replace(f"{FOLDER}/{version}.snapshot.json", signed)
    signed = _signed(Timestamp(version, expires=expires, snapshot_meta=_meta(version, signed)), signer)
    files.replace(f"{FOLDER}/timestamp.json", signed)
    _sweep(files)
    return True


def is_due(files: HubFiles, now: float) -> bool:
    """Return whether the signatures of a hub are a day old, or have used up a third of their validity.

    Args:
        files: a signed hub.
        now: the time, in seconds since the epoch.

    Raises:
        HubError: if the hub's settings are damaged.
    """
    try:
        timestamp: Metadata[Timestamp] = Metadata.from_bytes(files.read(f"{FOLDER}/timestamp.json") or b"")
    except DeserializationError:
        return True
    validity = _validity(files).total_seconds()
    return timestamp.signed.expires.timestamp() - now <= validity - min(_DAY, validity / 3)


def online_key(files: HubFiles, root: Root) -> CryptoSigner:
    """Return the key that signs a hub's changes.

    Raises:
        HubRefusal: if it is not on this machine, or is another than the root names.
    """
    path = key_path(files)
    here = [file for file in (path, _next_name(path)) if file.is_file()] if path is not None else []
    if path is None or not here:
        raise HubRefusal(
            f"this hub is signed, and its online key is not here; name its file in {ONLINE_KEY}, and run: gem hub sign"
        )
    for file in here:
        signer = load_key(file)
        if signer.public_key.keyid in root.roles["timestamp"].keyids:
            if file != path:  # the root that names it is in force
                file.replace(path)
            return signer
    raise HubRefusal(
        f"{path}: is not the online key that root {root.version} of the hub names "
        f"({', '.join(identity[:16] for identity in root.roles['timestamp'].keyids)})"
    )


def new_online_key(files: HubFiles) -> Key:
    """Make a new online key. It takes the place of the one before when a root that names it is in force.

    Raises:
        HubRefusal: if there is no place for it on this machine.
    """
    path = key_path(files)
    if path is None:
        raise HubRefusal(f"name the file for the online key in {ONLINE_KEY}; this hub has no place for it")
    target = _next_name(path) if path.exists() else path
    for old in (target, public_name(target)):
        old.unlink(missing_ok=True)
    return create_key(target).public_key


def _next_name(path: Path) -> Path:
    return path.with_name(f"{path.name}.next")


def key_path(files: HubFiles) -> Path | None:
    """Return where the online key of a hub lies: the environment's choice, or the private folder of a local hub."""
    if chosen := os.environ.get(ONLINE_KEY):
        return Path(chosen)
    # A bucket may be readable by others, so it never holds a key.
    return files.path / _PRIVATE_KEY if isinstance(files, HubFolder) else None


def _serial(index: bytes) -> int:
    try:
        return int(json.loads(index)["serial"])
    except (ValueError, KeyError, TypeError) as error:
        raise HubError("root.json: missing or damaged; run: gem hub rebuild") from error


def _current(files: HubFiles) -> Metadata[Targets] | None:
    """Return the targets that the timestamp leads to; None if there are none or they are damaged."""
    try:
        timestamp: Metadata[Timestamp] = Metadata.from_bytes(files.read(f"{FOLDER}/timestamp.json") or b"")
        path = f"{FOLDER}/{timestamp.signed.snapshot_meta.version}.targets.json"
        targets: Metadata[Targets] = Metadata.from_bytes(files.read(path) or b"")
    except DeserializationError:
        return None
    return targets


def _signed(payload: Any, signer: CryptoSigner) -> bytes:
    metadata: Metadata[Any] = Metadata(payload)
    metadata.sign(signer)
    return metadata.to_bytes(JSONSerializer(compact=True))  # clients load these at each change


def _meta(version: int, content: bytes) -> MetaFile:
    return MetaFile(version, len(content), {"sha256": hashlib.sha256(content).hexdigest()})


def _validity(files: HubFiles) -> timedelta:
    try:
        return timedelta(days=Settings.model_validate_json(files.read("hub.json") or b"{}").valid_days or VALID_DAYS)
    except ValueError as error:
        raise HubError(f"hub.json: cannot be read: {error}") from error


def _sweep(files: HubFiles) -> None:
    """Remove metadata that was superseded long ago, and the targets that nothing else names."""
    names = files.names(FOLDER)
    versions = sorted(int(name.partition(".")[0]) for name in names if name.endswith(".targets.json"))
    kept = {place for version in versions[-_KEPT:] for place in _places(files, version)}
    for version in versions[:-_KEPT]:
        for place in sorted(_places(files, version) - kept):
            files.remove(place)
        files.remove(f"{FOLDER}/{version}.targets.json")
        files.remove(f"{FOLDER}/{version}.snapshot.json")


def _places(files: HubFiles, version: int) -> set[str]:
    try:
        targets: Metadata[Targets] = Metadata.from_bytes(files.read(f"{FOLDER}/{version}.targets.json") or b"")
    except DeserializationError:
        return set()
    return {
        posixpath.join(
            FOLDER, "targets", posixpath.dirname(path), f"{file.hashes['sha256']}.{posixpath.basename(path)}"
        )
        for path, file in targets.signed.targets.items()
    }
