"""A hub's signed statement on a run of the conformance kit, and its check without a network.

An in-toto statement (https://github.com/in-toto/attestation, version 1) in a DSSE envelope
(https://github.com/secure-systems-lab/dsse): one wheel by its digest, and of the run the version of the kit, that of
gem-core, the sandbox and the counts, those of the hack audit where there was one, nothing else. The key is the one that
signs the hub's changes.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gem_hub_client.errors import TrustError
from gem_hub_client.trust.attack_counts import COUNTS as ATTACK_COUNTS
from gem_hub_client.trust.attack_counts import attack_counts, audit_text
from gem_hub_client.trust.ed25519 import verify_signature

__all__ = [
    "PAYLOAD_TYPE",
    "PREDICATE",
    "STATEMENT",
    "ConformanceStatement",
    "contradiction",
    "counts_of",
    "pre_authentication",
    "read_statement",
]

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:gem:conformance:v1"
_COUNTS = ("holds", "violated", "not_tested")
_LARGEST = 20_000
"""Bytes; a statement has some 400."""


@dataclass(frozen=True)
class ConformanceStatement:
    """What a hub has signed about one run."""

    filename: str
    sha256: str
    """The digest of the wheel."""
    kit: int
    gem_core: str
    sandbox: str
    """How the code was kept apart from the machine."""
    holds: int
    violated: int
    not_tested: int
    attacks: Mapping[str, int] | None = None
    """The counts of the hack audit; see :mod:`gem_hub_client.trust.attack_counts`."""

    @property
    def result(self) -> str:
        """The result in two words."""
        return f"{self.violated} violated" if self.violated else f"{self.holds} hold"

    def __str__(self) -> str:
        attacks = "" if self.attacks is None else f", {audit_text(self.attacks)}"
        return f"{self.result}{attacks}, kit {self.kit}, gem-core {self.gem_core}, sandbox {self.sandbox}"


def pre_authentication(payload: bytes, payload_type: str = PAYLOAD_TYPE) -> bytes:
    """Return what DSSE signs (its "PAE"), which no signed metadata of TUF can be."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def read_statement(envelope: Any, keys: Mapping[str, bytes]) -> ConformanceStatement:
    """Return a statement that one of the keys has signed.

    Args:
        envelope: the DSSE envelope, as JSON values of any origin.
        keys: key id → public Ed25519 key of 32 bytes.

    Raises:
        TrustError: if none of the keys has signed it, or it is no statement on conformance.
    """
    try:
        payload = base64.b64decode(envelope["payload"], validate=True)
        kind = envelope["payloadType"]
        signatures = [(one["keyid"], base64.b64decode(one["sig"], validate=True)) for one in envelope["signatures"]]
    except (KeyError, TypeError, ValueError) as error:
        raise TrustError(f"the statement on conformance is no DSSE envelope: {error!r}") from error
    if kind != PAYLOAD_TYPE or len(payload) > _LARGEST:
        raise TrustError(f"the statement on conformance is no in-toto statement: it is {str(kind)[:80]!r}")
    signed = pre_authentication(payload)
    known = [(keys[name], signature) for name, signature in signatures if isinstance(name, str) and name in keys]
    if not known:
        names = ", ".join(str(name)[:16] for name, _ in signatures[:3]) or "nothing"
        raise TrustError(f"the statement on conformance is signed with {names}, which is no key of this hub now")
    if not any(verify_signature(key, signature, signed) for key, signature in known):
        raise TrustError("the signature of the statement on conformance is wrong")
    try:
        return _parsed(json.loads(payload))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TrustError(f"the statement on conformance cannot be read: {error!r}") from error


def contradiction(statement: ConformanceStatement, sha256: str, counts: Mapping[str, Any]) -> str:
    """Return in what a statement differs from what it should be about; empty if in nothing.

    Args:
        statement: one whose signature is right.
        sha256: the digest of the wheel.
        counts: what the hub shows of the run: gem_core, holds, violated, not_tested, and attacks where it played some.
    """
    if statement.sha256 != sha256:
        return f"is about the wheel with sha256 {statement.sha256[:12]}…, and this one has {sha256[:12]}…"
    for name in ("gem_core", *_COUNTS, "attacks"):
        if getattr(statement, name) != counts.get(name):
            return f"says {name} {getattr(statement, name)!r}, and the hub shows {counts.get(name)!r}"
    return ""


def counts_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return gem-core's version and the counts of a conformance record, declared exemptions left out.

    Raises:
        KeyError, TypeError: if it is none.
        TrustError: if its audit of attacks cannot be counted.
    """
    outcomes = [
        clause["outcome"]
        for package in record["packages"]
        for environment in package["environments"]
        for clause in environment["clauses"]
        if not clause.get("exempt")
    ]
    counts = {name: outcomes.count(name.replace("_", " ")) for name in _COUNTS}
    try:
        attacks = attack_counts(record)
    except ValueError as error:
        raise TrustError(str(error)) from error
    return {"gem_core": record["gem_core"], **counts, **({} if attacks is None else {"attacks": attacks})}


def _parsed(document: Any) -> ConformanceStatement:
    (subject,) = document["subject"]
    predicate = document["predicate"]
    if document["_type"] != STATEMENT or document["predicateType"] != PREDICATE:
        raise ValueError(f"its type is {document['predicateType']!r}")
    result = predicate["result"]
    texts = {
        "filename": subject["name"],
        "sha256": subject["digest"]["sha256"],
        "gem_core": predicate["gem_core"],
        "sandbox": predicate["sandbox"],
    }
    numbers = {"kit": predicate["kit"], **{name: result[name] for name in _COUNTS}}
    attacks = predicate.get("attacks")
    counted = {} if attacks is None else {name: attacks[name] for name in ATTACK_COUNTS}
    if not all(isinstance(value, str) for value in texts.values()):
        raise TypeError(f"{texts!r} must be texts")
    if not all(type(value) is int for value in (*numbers.values(), *counted.values())):
        raise TypeError(f"{numbers | counted!r} must be whole numbers")
    return ConformanceStatement(**texts, **numbers, attacks=counted or None)
