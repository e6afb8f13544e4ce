"""Reads attestations, and puts them into the provenance object that an index serves (PEP 740).

Nothing here verifies a signature. An attestation is kept whole, with the fields that this version does not know: hosts
add fields, such as timestamps, and later verifiers need them.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from gem_hub.errors import HubRefusal

__all__ = [
    "attestations_in",
    "bundles_of",
    "check_subject",
    "checked_attestations",
    "provenance_object",
    "read_attestations",
]

_PREDICATE = re.compile(r"https://slsa\.dev/provenance/v1|https://[\w.-]+/attestations/publish/v1", re.ASCII)
"""The kinds of statements that PEP 740's indexes take; the host of the second is the index whose kind it is."""
_STATEMENT = "https://in-toto.io/Statement/v1"
_LARGEST = 2**20
"""Bytes of one file of attestations; one has some 5,500."""
_MOST = 16
"""The number of attestations that a wheel may have."""


def read_attestations(content: bytes, name: str) -> list[dict[str, Any]]:
    """Return the attestations in a file: one, a list of them, or a provenance object.

    Raises:
        HubRefusal: if it holds anything else.
    """
    if len(content) > _LARGEST:
        raise HubRefusal(f"{name}: has {len(content):,} bytes, and {_LARGEST:,} are the most for attestations")
    try:
        document: Any = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise HubRefusal(f"{name}: cannot be read as JSON: {error}") from error
    return checked_attestations(document, name)


def checked_attestations(document: Any, name: str) -> list[dict[str, Any]]:
    """Return the attestations in a document: one, a list of them, or a provenance object.

    Raises:
        HubRefusal: if it is anything else.
    """
    try:
        found = attestations_in(document)
    except (KeyError, TypeError, AttributeError) as error:
        raise HubRefusal(f"{name}: holds no attestation of PEP 740: {error!r} is missing or wrong") from error
    if not 0 < len(found) <= _MOST:
        raise HubRefusal(f"{name}: holds {len(found)} attestations, and a wheel has 1 to {_MOST}")
    return found


def attestations_in(document: Any) -> list[dict[str, Any]]:
    """Return the attestations in a document of one of the three forms, each checked for its required keys.

    Raises:
        KeyError, TypeError, AttributeError: if a required key is missing or wrong.
    """
    if isinstance(document, list):
        found = document
    elif "attestation_bundles" in document:
        found = [one for _, attestations in bundles_of(document) for one in attestations]
    else:
        found = [document]
    for one in found:
        if one["version"] != 1:
            raise TypeError(f"version {one['version']!r}")
        envelope, material = one["envelope"], one["verification_material"]
        texts = (envelope["statement"], envelope["signature"], material["certificate"])
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("envelope")
        if not material["transparency_entries"]:
            raise TypeError("transparency_entries")
    return list(found)


def bundles_of(document: Mapping[str, Any]) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Return publisher and attestations of each bundle of a provenance object.

    Raises:
        KeyError, TypeError: if it is none.
    """
    if document["version"] != 1:
        raise TypeError(f"version {document['version']!r}")
    return [(dict(bundle["publisher"]), list(bundle["attestations"])) for bundle in document["attestation_bundles"]]


def check_subject(attestation: Mapping[str, Any], filename: str, sha256: str) -> None:
    """Check that an attestation is about one wheel.

    Raises:
        HubRefusal: if its statement is about another file, another name, or several.
    """
    try:
        statement = json.loads(base64.b64decode(attestation["envelope"]["statement"], validate=True))
        if statement["_type"] != _STATEMENT:
            raise ValueError(f"type {statement['_type']!r}")
        subjects: Sequence[Any] = statement["subject"]
        kind = statement["predicateType"]
        subjects = [(subject["name"], subject["digest"]["sha256"]) for subject in subjects]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise HubRefusal(f"{filename}: the statement of the attestation cannot be read: {error!r}") from error
    if not isinstance(kind, str) or not _PREDICATE.fullmatch(kind):
        raise HubRefusal(
            f"{filename}: the attestation states {str(kind)[:100]!r}; known are statements on publishing "
            "(…/attestations/publish/v1) and on provenance (https://slsa.dev/provenance/v1)"
        )
    if len(subjects) != 1:
        raise HubRefusal(f"{filename}: the attestation is about {len(subjects)} files, and must be about one")
    name, digest = subjects[0]
    if not _is_same_wheel(name, filename):
        raise HubRefusal(f"{filename}: the attestation is about {str(name)[:100]!r}, which is another file")
    if digest != sha256:
        raise HubRefusal(
            f"{filename}: the attestation is about a wheel with sha256 {str(digest)[:12]}…, and this one has "
            f"{sha256[:12]}…; publish the file that was attested"
        )


def provenance_object(bundles: Iterable[tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]]) -> dict[str, Any]:
    """Return the provenance object of attestations, grouped by publisher, each once."""
    grouped: list[tuple[Mapping[str, Any], list[Mapping[str, Any]]]] = []
    for publisher, attestations in bundles:
        known = next((items for other, items in grouped if other == publisher), None)
        if known is None:
            known = []
            grouped.append((publisher, known))
        known += [one for one in attestations if one not in known]
    return {
        "version": 1,
        "attestation_bundles": [{"publisher": publisher, "attestations": items} for publisher, items in grouped],
    }


def _is_same_wheel(name: Any, filename: str) -> bool:
    try:
        return bool(parse_wheel_filename(name) == parse_wheel_filename(filename))
    except (InvalidWheelFilename, TypeError, AttributeError):
        return False
