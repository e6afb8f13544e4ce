"""The root of a hub: which keys sign what, how many of them, and how one root follows another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from securesystemslib.signer import Key, Signer
from tuf.api.exceptions import UnsignedMetadataError
from tuf.api.metadata import Metadata, Root
from tuf.api.serialization import DeserializationError
from tuf.api.serialization.json import JSONSerializer

from gem_hub.errors import HubRefusal
from gem_hub.storage import HubFiles
from gem_hub_client.errors import HubError
from gem_hub_client.trust.metadata import RoleKeys, fingerprint_of

__all__ = [
    "FOLDER",
    "ONLINE_ROLES",
    "dumped",
    "fingerprint",
    "first_root",
    "missing_signatures",
    "newest_root",
    "parsed_root",
    "sign_root",
    "successor",
]

FOLDER = "trust"
ONLINE_ROLES = ("timestamp", "snapshot", "targets")
_SERIALIZER = JSONSerializer(compact=False)


def first_root(
    keys: Sequence[Key], threshold: int, online: Key, days: int, *, development: bool = False
) -> Metadata[Root]:
    """Return an unsigned first root.

    Args:
        keys: the root keys, which stay off line.
        threshold: how many of them sign a root.
        online: the key that signs everything else.
        days: for how long the root is valid.
        development: say in the root that its private keys are public.

    Raises:
        HubRefusal: if the threshold cannot be reached, or the online key is one of the root keys.
    """
    gem = {"development": True} if development else {}
    root = Root(expires=_expiry(days), consistent_snapshot=True, unrecognized_fields={"gem": gem} if gem else {})
    for key in keys:
        root.add_key(key, "root")
    for role in ONLINE_ROLES:
        root.add_key(online, role)
    root.roles["root"].threshold = threshold
    _check(root)
    return Metadata(root)


def successor(
    before: Metadata[Root],
    days: int,
    *,
    add: Iterable[Key] = (),
    remove: Iterable[str] = (),
    threshold: int | None = None,
    online: Key | None = None,
    stolen: bool = False,
) -> Metadata[Root]:
    """Return the unsigned root that follows another one.

    Args:
        before: the root that is trusted now.
        days: for how long the new one is valid.
        add: root keys that are new.
        remove: the ids of root keys that go.
        threshold: how many root keys sign a root; as before if None.
        online: the new online key; as before if None.
        stolen: ask clients to forget what they saw signed with the keys before: a key was stolen.

    Raises:
        HubRefusal: if a key to remove is none of the root keys, or the threshold cannot be reached.
    """
    root = Metadata.from_bytes(before.to_bytes(_SERIALIZER)).signed
    assert isinstance(root, Root)
    root.version += 1
    root.expires = _expiry(days)
    for identity in remove:
        found = [key for key in root.roles["root"].keyids if key.startswith(identity)]
        if len(found) != 1:
            raise HubRefusal(f"{identity!r} is the beginning of {len(found)} root keys; gem hub keys list shows all")
        root.revoke_key(found[0], "root")
    for key in add:
        root.add_key(key, "root")
    if online is not None:
        for role in ONLINE_ROLES:
            for identity in list(root.roles[role].keyids):
                root.revoke_key(identity, role)
            root.add_key(online, role)
    if threshold is not None:
        root.roles["root"].threshold = threshold
    if stolen:
        gem: dict[str, Any] = dict(root.unrecognized_fields.get("gem", {}))
        root.unrecognized_fields["gem"] = {**gem, "restarts": gem.get("restarts", 0) + 1}
    _check(root)
    return Metadata(root)


def missing_signatures(before: Metadata[Root] | None, root: Metadata[Root]) -> list[str]:
    """Return a sentence for each set of keys of which a root lacks signatures; empty if it is complete."""
    missing = []
    for name, judge in (("the root before it", before), ("itself", root)):
        if judge is None:
            continue
        result = judge.signed.get_verification_result("root", root.signed_bytes, root.signatures)
        if not result.verified:
            others = ", ".join(sorted(identity[:16] for identity in result.unsigned))
            missing.append(f"{result.missing} more of the keys that {name} names: {others}")
    return missing


def sign_root(root: Metadata[Root], signers: Iterable[Signer]) -> None:
    """Add signatures to a root.

    Raises:
        HubRefusal: if a key cannot sign.
    """
    for signer in signers:
        try:
            root.sign(signer, append=True)
        except UnsignedMetadataError as error:
            raise HubRefusal(f"a root cannot be signed with the key {signer.public_key.keyid[:16]}: {error}") from error


def newest_root(files: HubFiles) -> Metadata[Root] | None:
    """Return the newest root of a hub; None if it has none.

    Raises:
        HubError: if it is damaged.
    """
    versions = [
        int(number)
        for number, _, rest in (name.partition(".") for name in files.names(FOLDER))
        if rest == "root.json" and number.isdecimal()
    ]
    if not versions:
        return None
    path = f"{FOLDER}/{max(versions)}.root.json"
    return parsed_root(files.read(path) or b"", path)


def parsed_root(content: bytes, name: str) -> Metadata[Root]:
    """Return a root from its bytes; raises HubError if it is damaged."""
    try:
        root: Metadata[Root] = Metadata.from_bytes(content)
    except DeserializationError as error:
        raise HubError(f"{name}: is no signed root; put it back from a copy") from error
    if not isinstance(root.signed, Root):
        raise HubError(f"{name}: is of type {root.signed.type!r}, not 'root'; put it back from a copy")
    return root


def fingerprint(root: Root) -> str:
    """Return the fingerprint of the root keys that clients show."""
    role = root.roles["root"]
    keys = {identity: bytes.fromhex(root.keys[identity].keyval["public"]) for identity in role.keyids}
    return fingerprint_of(RoleKeys(keys, role.threshold))


def dumped(metadata: Metadata[Any]) -> bytes:
    """Return the bytes of signed metadata as files hold them."""
    return metadata.to_bytes(_SERIALIZER)


def _expiry(days: int) -> datetime:
    return (datetime.now(timezone.utc) + timedelta(days=days)).replace(microsecond=0)


def _check(root: Root) -> None:
    role = root.roles["root"]
    if not 1 <= role.threshold <= len(role.keyids):
        raise HubRefusal(f"{len(role.keyids)} root keys cannot give {role.threshold} signatures")
    online = {identity for name in ONLINE_ROLES for identity in root.roles[name].keyids}
    if online & set(role.keyids):
        raise HubRefusal("the online key is one of the root keys; whoever takes it could then replace all keys")
