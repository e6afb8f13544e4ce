"""Signs the hub's statements on its runs of the conformance kit; :mod:`gem_hub_client.trust.statements` checks them."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from gem_hub.canonical import compact_json
from gem_hub_client.trust.statements import PAYLOAD_TYPE, PREDICATE, STATEMENT, pre_authentication

if TYPE_CHECKING:
    from gem_hub.events import Conformance
    from gem_hub.records import Release
    from gem_hub.storage import HubFiles

__all__ = ["current_key_ids", "is_stated", "signed_statement", "statement_on"]


def statement_on(event: Conformance, release: Release) -> dict[str, Any]:
    """Return the unsigned statement on a run by the hub: over the wheel, kit, gem-core, sandbox and results alone."""
    counts = event.counts()
    return {
        "_type": STATEMENT,
        "subject": [{"name": release.filename, "digest": {"sha256": release.sha256}}],
        "predicateType": PREDICATE,
        "predicate": {
            "kit": event.record.get("kit"),
            "gem_core": counts["gem_core"],
            "sandbox": event.isolation,
            "result": {name: counts[name] for name in ("holds", "violated", "not_tested")},
            **({"attacks": counts["attacks"]} if "attacks" in counts else {}),
        },
    }


def signed_statement(event: Conformance, release: Release, files: HubFiles) -> dict[str, Any] | None:
    """Return the DSSE envelope of a statement; None for a claim of the author, and in a hub without keys.

    Raises:
        HubRefusal: if the hub has keys and its online key is not here.
    """
    if event.source != "hub":
        return None
    from gem_hub.signing.online import online_key
    from gem_hub.signing.roots import newest_root

    root = newest_root(files)
    if root is None:
        return None
    signer = online_key(files, root.signed)
    payload = compact_json(statement_on(event, release)).rstrip(b"\n")
    signature = signer.sign(pre_authentication(payload))
    return {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(payload).decode(),
        "signatures": [
            {"keyid": signature.keyid, "sig": base64.b64encode(bytes.fromhex(signature.signature)).decode()}
        ],
    }


def current_key_ids(files: HubFiles) -> frozenset[str]:
    """Return the ids of the keys that sign a hub's changes now; none in a hub without keys."""
    from gem_hub.signing.roots import newest_root

    root = newest_root(files)
    return frozenset() if root is None else frozenset(root.signed.roles["timestamp"].keyids)


def is_stated(event: Conformance, keys: frozenset[str]) -> bool:
    """Return whether the hub's statement on a run is signed with one of these keys; true in a hub without keys."""
    if not keys:
        return True
    signatures: Any = (event.statement or {}).get("signatures", [])
    return any(one.get("keyid") in keys for one in signatures)
