"""The signed metadata of a hub: root, timestamp, snapshot and targets, each checked as it is read (TUF 1.0, section 5).

Nothing here loads a file, knows the time or keeps state; :mod:`gem_hub_client.trust.refresh` does.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gem_hub_client.errors import TrustError
from gem_hub_client.sanitize import sanitize
from gem_hub_client.trust.canonical_json import canonical_json
from gem_hub_client.trust.ed25519 import is_valid_key, verify_signature

__all__ = [
    "FileDigest",
    "MetaFile",
    "RoleKeys",
    "SignedSnapshot",
    "SignedTargets",
    "SignedTimestamp",
    "TrustedRoot",
    "check_file",
    "fingerprint_of",
    "first_root",
    "known_root",
    "known_snapshot",
    "known_targets",
    "known_timestamp",
    "next_root",
    "read_snapshot",
    "read_targets",
    "read_timestamp",
]

ROLES = ("root", "timestamp", "snapshot", "targets")
_KEY_TYPE = "ed25519"
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+")
_SPECIFICATION = re.compile(r"1\.\d+(\.\d+)?", re.ASCII)
_MOST_SIGNATURES = 64


@dataclass(frozen=True)
class RoleKeys:
    """Whose signatures a role needs, and how many."""

    keys: Mapping[str, bytes]
    """Key id → public key of 32 bytes."""
    threshold: int


@dataclass(frozen=True)
class TrustedRoot:
    """The keys of all roles."""

    content: bytes
    version: int
    expires: str
    roles: Mapping[str, RoleKeys]
    consistent: bool
    """Whether the names of the other files begin with their version or digest."""
    development: bool
    """Whether the root says that its private keys are public, so that its signatures prove nothing."""
    restarts: int
    """How often the hub asked its clients to forget its history, because a key of it had been stolen."""

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the root keys and their threshold."""
        return fingerprint_of(self.roles["root"])


@dataclass(frozen=True)
class FileDigest:
    """Size in bytes and SHA-256 of a file."""

    length: int
    sha256: str


@dataclass(frozen=True)
class MetaFile:
    """What one signed file says of another one: its version, and perhaps its bytes."""

    version: int
    length: int | None
    sha256: str | None


@dataclass(frozen=True)
class SignedTimestamp:
    """Names the current snapshot."""

    version: int
    expires: str
    snapshot: MetaFile


@dataclass(frozen=True)
class SignedSnapshot:
    """Names the current version of every other signed file."""

    version: int
    expires: str
    files: Mapping[str, MetaFile]


@dataclass(frozen=True)
class SignedTargets:
    """Names the current bytes of the targets."""

    version: int
    expires: str
    files: Mapping[str, FileDigest]


def fingerprint_of(role: RoleKeys) -> str:
    """Return a fingerprint of keys and threshold, in the form that OpenSSH gives fingerprints."""
    digest = hashlib.sha256(canonical_json({"keys": sorted(key.hex() for key in role.keys.values()),
                                            "threshold": role.threshold})).digest()  # fmt: skip
    return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"


def first_root(content: bytes, name: str) -> TrustedRoot:
    """Read the root with which trust begins; only its own keys vouch for it.

    Args:
        content: the file.
        name: what to call it in messages.

    Raises:
        TrustError: if it is invalid, or not signed by a threshold of its own keys.
    """
    signed, signatures = _opened(content, "root", name)
    root = _root(signed, content, name)
    _check_signatures(root.roles["root"], signed, signatures, name)
    return root


def next_root(root: TrustedRoot, content: bytes, name: str) -> TrustedRoot:
    """Read the root that follows a trusted one.

    Raises:
        TrustError: if it is invalid, has another version than the next, or lacks a threshold of the trusted root's
            keys or of its own.
    """
    signed, signatures = _opened(content, "root", name)
    _check_signatures(root.roles["root"], signed, signatures, f"{name} (by the keys of root {root.version})")
    successor = _root(signed, content, name)
    if successor.version != root.version + 1:
        raise TrustError(f"{name}: has version {successor.version}, and {root.version + 1} comes next")
    _check_signatures(successor.roles["root"], signed, signatures, f"{name} (by its own keys)")
    return successor


def read_timestamp(root: TrustedRoot, content: bytes, name: str) -> SignedTimestamp:
    """Read a timestamp; raises TrustError if it is invalid or not signed as the root demands."""
    return _timestamp(_verified(root, content, "timestamp", name), name)


def read_snapshot(root: TrustedRoot, content: bytes, promised: MetaFile, name: str) -> SignedSnapshot:
    """Read the snapshot that a timestamp names; raises TrustError if it is another one, invalid, or not signed."""
    _check_promise(content, promised, name)
    snapshot = _snapshot(_verified(root, content, "snapshot", name), name)
    if snapshot.version != promised.version:
        raise TrustError(f"{name}: has version {snapshot.version}, and the timestamp names {promised.version}")
    return snapshot


def read_targets(root: TrustedRoot, content: bytes, promised: MetaFile, name: str) -> SignedTargets:
    """Read the targets that a snapshot names; raises TrustError if they are others, invalid, or not signed."""
    _check_promise(content, promised, name)
    targets = _targets(_verified(root, content, "targets", name), name)
    if targets.version != promised.version:
        raise TrustError(f"{name}: has version {targets.version}, and the snapshot names {promised.version}")
    return targets


def known_root(content: bytes, name: str) -> TrustedRoot:
    """Read a root that was verified before."""
    return _root(_opened(content, "root", name)[0], content, name)


def known_timestamp(content: bytes, name: str) -> SignedTimestamp:
    """Read a timestamp that was verified before."""
    return _timestamp(_opened(content, "timestamp", name)[0], name)


def known_snapshot(content: bytes, name: str) -> SignedSnapshot:
    """Read a snapshot that was verified before."""
    return _snapshot(_opened(content, "snapshot", name)[0], name)


def known_targets(content: bytes, name: str) -> SignedTargets:
    """Read targets that were verified before."""
    return _targets(_opened(content, "targets", name)[0], name)


def check_file(content: bytes, promised: FileDigest, name: str) -> None:
    """Raise TrustError if a target's bytes are not the signed ones."""
    if len(content) != promised.length or hashlib.sha256(content).hexdigest() != promised.sha256:
        raise TrustError(
            f"{name}: is not what was signed: expected {promised.length:,} bytes with sha256 {promised.sha256}, found "
            f"{len(content):,} bytes with sha256 {hashlib.sha256(content).hexdigest()}; nothing of it was used"
        )


def _verified(root: TrustedRoot, content: bytes, kind: str, name: str) -> dict[str, Any]:
    signed, signatures = _opened(content, kind, name)
    _check_signatures(root.roles[kind], signed, signatures, name)
    return signed


def _opened(content: bytes, kind: str, name: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the signed part of a file and its signatures by key id."""
    with _refusing(name):
        document = json.loads(content.decode())
        signed, listed = document["signed"], document["signatures"]
        if not isinstance(signed, dict) or not isinstance(listed, list) or len(listed) > _MOST_SIGNATURES:
            raise ValueError("'signed' is no object or 'signatures' no short list")
        signatures: dict[str, bytes] = {}
        for entry in listed:
            identity, text = entry["keyid"], entry["sig"]
            if not isinstance(identity, str) or not isinstance(text, str):
                raise ValueError("a signature is no text")
            if identity in signatures:
                raise ValueError(f"it has two signatures of the key {identity[:16]!r}; each key counts once")
            signatures[identity] = bytes.fromhex(text) if _HEX.fullmatch(text) else b""
        if signed["_type"] != kind:
            raise ValueError(f"it is of type {signed['_type']!r}, not {kind!r}")
        if not isinstance(signed["spec_version"], str) or not _SPECIFICATION.fullmatch(signed["spec_version"]):
            raise ValueError(f"it follows TUF {signed['spec_version']!r}, and this gem-hub-client reads 1.x")
    return signed, signatures


def _check_signatures(role: RoleKeys, signed: dict[str, Any], signatures: Mapping[str, bytes], name: str) -> None:
    with _refusing(name):
        message = canonical_json(signed)
    # By key, not by id: one key under two ids would count twice.
    valid = {
        key
        for identity, key in role.keys.items()
        if identity in signatures and verify_signature(key, signatures[identity], message)
    }
    if len(valid) < role.threshold:
        others = len(signatures.keys() - role.keys.keys())
        foreign = f"; {others} by keys that are not trusted for it" if others else ""
        raise TrustError(
            f"{name}: has {len(valid)} valid signature{'s' * (len(valid) != 1)} of the {role.threshold} that it "
            f"needs{foreign}; it was not used"
        )


def _check_promise(content: bytes, promised: MetaFile, name: str) -> None:
    digest = hashlib.sha256(content).hexdigest()
    if promised.length not in (None, len(content)) or promised.sha256 not in (None, digest):
        raise TrustError(
            f"{name}: is not what was signed: expected {promised.length} bytes with sha256 {promised.sha256}, found "
            f"{len(content)} bytes with sha256 {digest}; files of two moments may be mixed: try again later"
        )


def _root(signed: dict[str, Any], content: bytes, name: str) -> TrustedRoot:
    with _refusing(name):
        keys = {identity: _key(identity, entry) for identity, entry in _table(signed, "keys").items()}
        roles = _table(signed, "roles")
        if set(roles) != set(ROLES):
            raise ValueError(f"its roles are {sorted(roles)}, and must be {sorted(ROLES)}")
        gem = signed.get("gem", {})
        restarts = gem.get("restarts", 0)
        if type(restarts) is not int or restarts < 0:
            raise ValueError(f"its number of restarts is {restarts!r}")
        return TrustedRoot(
            content,
            _version(signed),
            _expires(signed),
            {kind: _role(kind, roles[kind], keys) for kind in ROLES},
            bool(signed.get("consistent_snapshot")),
            gem.get("development") is True,
            restarts,
        )


def _key(identity: str, entry: Any) -> bytes:
    if (entry["keytype"], entry["scheme"]) != (_KEY_TYPE, _KEY_TYPE):
        raise ValueError(
            f"the key {identity[:16]!r} is of type {entry['keytype']!r} with scheme {entry['scheme']!r}, and only "
            f"{_KEY_TYPE} keys are accepted"
        )
    public = entry["keyval"]["public"]
    key = bytes.fromhex(public) if isinstance(public, str) and _SHA256.fullmatch(public) else b""
    if not is_valid_key(key):
        raise ValueError(f"the key {identity[:16]!r} has the value {public!r}, which is no {_KEY_TYPE} key")
    return key


def _role(kind: str, entry: Any, keys: Mapping[str, bytes]) -> RoleKeys:
    identities, threshold = entry["keyids"], entry["threshold"]
    if not isinstance(identities, list) or not all(isinstance(identity, str) for identity in identities):
        raise ValueError(f"the key ids of {kind} are {identities!r}")
    if len(set(identities)) != len(identities):
        raise ValueError(f"{kind} lists a key twice")
    if type(threshold) is not int or threshold < 1:
        raise ValueError(f"the threshold of {kind} is {threshold!r}, and must be at least 1")
    return RoleKeys({identity: keys[identity] for identity in identities if identity in keys}, threshold)


def _timestamp(signed: dict[str, Any], name: str) -> SignedTimestamp:
    files = _files(signed, name)
    if set(files) != {"snapshot.json"}:
        raise TrustError(f"{name}: names {sorted(files)[:3]}, and must name snapshot.json")
    return SignedTimestamp(*_common(signed, name), files["snapshot.json"])


def _snapshot(signed: dict[str, Any], name: str) -> SignedSnapshot:
    files = _files(signed, name)
    if "targets.json" not in files:
        raise TrustError(f"{name}: does not name targets.json")
    return SignedSnapshot(*_common(signed, name), files)


def _targets(signed: dict[str, Any], name: str) -> SignedTargets:
    with _refusing(name):
        files = {path: _digest(entry) for path, entry in _table(signed, "targets").items()}
    return SignedTargets(*_common(signed, name), files)


def _files(signed: dict[str, Any], name: str) -> dict[str, MetaFile]:
    with _refusing(name):
        return {path: _meta(entry) for path, entry in _table(signed, "meta").items()}


def _meta(entry: Any) -> MetaFile:
    length, hashes = entry.get("length"), entry.get("hashes")
    return MetaFile(
        _version(entry), None if length is None else _length(length), None if hashes is None else _sha256(hashes)
    )


def _digest(entry: Any) -> FileDigest:
    return FileDigest(_length(entry["length"]), _sha256(entry["hashes"]))


def _length(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"a length is {value!r}")
    return value


def _sha256(hashes: Any) -> str:
    digest: str = hashes["sha256"]
    if not all(isinstance(value, str) for value in hashes.values()) or not _SHA256.fullmatch(digest):
        raise ValueError(f"a sha256 is {digest!r}")
    return digest


def _common(signed: dict[str, Any], name: str) -> tuple[int, str]:
    with _refusing(name):
        return _version(signed), _expires(signed)


def _version(entry: Any) -> int:
    version = entry["version"]
    if type(version) is not int or version < 1:
        raise ValueError(f"a version is {version!r}, and must be a whole number from 1")
    return version


def _expires(signed: dict[str, Any]) -> str:
    expires = signed["expires"]
    if not isinstance(expires, str) or not _MOMENT.fullmatch(expires):
        raise ValueError(f"it expires {expires!r}, which is no time such as 2026-01-31T23:59:59Z")
    time.strptime(expires, "%Y-%m-%dT%H:%M:%SZ")  # raises ValueError for the 31st of February
    return expires


@contextmanager
def _refusing(name: str) -> Iterator[None]:
    """Turn the failure to read a file into a TrustError."""
    try:
        yield
    except KeyError as error:
        raise TrustError(f"{name}: cannot be used: the key {error} is missing") from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise TrustError(f"{name}: cannot be used: {sanitize(str(error))[:300]}") from error


def _table(signed: dict[str, Any], key: str) -> dict[str, Any]:
    table = signed[key]
    if not isinstance(table, dict):
        raise ValueError(f"{key!r} is no object")
    return table
