"""Attestations of wheels (PEP 740): kept as they were published, and verified without a network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gem_hub.records import Release
    from gem_hub.store import Store

__all__ = ["TRUSTED_ROOT", "add_attestations", "keep", "trusted_root"]

TRUSTED_ROOT = "GEM_HUB_TRUSTED_ROOT"
"""The environment variable with a file of the certificates and logs that a hub trusts in place of sigstore's."""


def trusted_root() -> Path | None:
    """Return the file that the environment names; None for sigstore's public instance."""
    chosen = os.environ.get(TRUSTED_ROOT)
    return Path(chosen) if chosen else None


def add_attestations(
    store: Store,
    release: Release,
    attestations: Sequence[dict[str, Any]],
    by: str,
    expected: dict[str, Any] | None = None,
    root: Path | None = None,
) -> tuple[bool, list[dict[str, Any]]]:
    """Verify attestations of a release, and add them to those that it has.

    Args:
        store: the hub.
        release: the release.
        attestations: each as it was published.
        by: the account that adds them.
        expected: the publisher that must have attested; the one that the certificate names if None.
        root: the file of a trusted root; see :func:`gem_hub.attestations.verification.verify_attestation`.

    Returns:
        Whether one of them is new, and the publishers of all that the release has now.

    Raises:
        HubRefusal: if one of them is not genuine or about another wheel, or the account may not add them.
    """
    from gem_hub.attestations.provenance import bundles_of, provenance_object
    from gem_hub.attestations.verification import attested_publisher, verify_attestation
    from gem_hub.errors import HubRefusal
    from gem_hub.events import Provenance
    from gem_hub.records import reasons

    before = store.existing(release.name).provenance(release.version)
    bundles = bundles_of(before or {"version": 1, "attestation_bundles": []})
    for attestation in attestations:
        publisher = expected or attested_publisher(attestation, release.filename)
        verify_attestation(attestation, release.filename, release.sha256, publisher, root)
        bundles.append((publisher, [attestation]))
    document = provenance_object(bundles)
    values = {"name": release.name, "version": release.version, "sha256": release.sha256, "by": by}
    try:
        event = Provenance.model_validate({**values, "document": document})
    except ValueError as error:
        raise HubRefusal(f"{release.filename}: {reasons(error)}") from error
    added = store.add_event(event)
    return added, [publisher for publisher, _ in bundles_of(document)]


def keep(store: Store, release: Release, attestations: Sequence[Any]) -> int:
    """Add the attestations of an upload to its release, which is published already; return how many.

    A registry without the libraries that verify them keeps none.

    Raises:
        HubRefusal: if one of them is not genuine or about another wheel; then none is kept.
    """
    from gem_hub.attestations.provenance import checked_attestations
    from gem_hub.errors import HubRefusal

    if find_spec("pypi_attestations") is None:
        return 0
    try:
        found = checked_attestations(list(attestations), "the field 'attestations'")
        add_attestations(store, release, found, release.publisher, root=trusted_root())
    except HubRefusal as error:
        raise HubRefusal(f"{release.filename} is published, and its attestations are refused: {error}") from error
    return len(found)
