"""Verifies attestations without a network, with the libraries of sigstore; they come with ``gem-hub[attestations]``.

``pypi_attestations`` alone knows only the trusted roots of sigstore's public instance, so this module gives a root to
the verifier of ``sigstore``, and compares the subject with the wheel itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem.discovery.official import install_line
from gem_hub.attestations.provenance import check_subject
from gem_hub.errors import HubRefusal

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pypi_attestations import Attestation
    from sigstore.verify import Verifier

__all__ = ["attested_publisher", "verify_attestation"]

_GITHUB, _GITLAB = "https://token.actions.githubusercontent.com", "https://gitlab.com"
_ISSUER, _REPOSITORY, _BUILD_CONFIG = (f"1.3.6.1.4.1.57264.1.{number}" for number in (8, 12, 18))
"""Extensions of the certificates that sigstore's authority issues."""
_PAYLOAD_TYPE = "application/vnd.in-toto+json"


def verify_attestation(
    attestation: Mapping[str, Any],
    filename: str,
    sha256: str,
    publisher: Mapping[str, Any],
    trusted_root: Path | None = None,
) -> None:
    """Verify that a publisher has attested a wheel.

    Args:
        attestation: as it was published.
        filename: the name of the wheel.
        sha256: its digest.
        publisher: who must have attested it, as PEP 740 describes publishers: ``kind``, ``repository``, ``workflow`` …
        trusted_root: a file with the certificates and logs to trust; those of sigstore's public instance, as of the
            installed library, if None.

    Raises:
        HubRefusal: if somebody else has, or it is about another wheel, or a signature, certificate or log entry is
            wrong; also if the libraries are not installed.
    """
    check_subject(attestation, filename, sha256)
    parsed = _parsed(attestation, filename)
    from sigstore.errors import Error as SigstoreError

    policy = _policy(publisher, filename)
    try:
        kind, payload = _verifier(trusted_root).verify_dsse(parsed.to_bundle(), policy)
    except (SigstoreError, ValueError) as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise HubRefusal(f"{filename}: the attestation is not that of {_named(publisher)}: {reason}") from error
    if kind != _PAYLOAD_TYPE or payload != parsed.envelope.statement:
        raise HubRefusal(f"{filename}: what is signed is no in-toto statement, but {kind!r}")


def attested_publisher(attestation: Mapping[str, Any], filename: str) -> dict[str, Any]:
    """Return the publisher that a certificate names, for :func:`verify_attestation` to verify.

    Raises:
        HubRefusal: if it names none of GitHub's or GitLab's, or the libraries are not installed.
    """
    from_certificate = _parsed(attestation, filename).certificate_claims
    issuer, repository = from_certificate.get(_ISSUER, ""), from_certificate.get(_REPOSITORY, "")
    config = from_certificate.get(_BUILD_CONFIG, "")
    if issuer == _GITHUB:
        match = re.fullmatch(r"https://github\.com/([^/]+/[^/]+)/\.github/workflows/([^/@]+)@.+", config)
        if match and repository == f"https://github.com/{match[1]}":
            return {"kind": "GitHub", "repository": match[1], "workflow": match[2]}
    elif issuer == _GITLAB:
        match = re.fullmatch(r"https://gitlab\.com/([^@]+?)//([^@]+)@.+", config)
        if match and repository == f"https://gitlab.com/{match[1]}":
            return {"kind": "GitLab", "repository": match[1], "workflow_filepath": match[2]}
    raise HubRefusal(
        f"{filename}: the certificate of the attestation is issued for {issuer[:100]!r}, {repository[:100]!r}, and "
        "only workflows of GitHub and GitLab are known"
    )


def _parsed(attestation: Mapping[str, Any], filename: str) -> Attestation:
    try:
        from pydantic import ValidationError
        from pypi_attestations import Attestation
    except ImportError as error:
        line = install_line("gem-hub[attestations]")
        raise HubRefusal(f"verifying attestations needs libraries that are not here ({error}); run: {line}") from error
    try:
        return Attestation.model_validate(attestation)
    except ValidationError as error:
        raise HubRefusal(f"{filename}: is no attestation: {_first(error)}") from error


def _policy(publisher: Mapping[str, Any], filename: str) -> Any:
    from pydantic import ValidationError
    from pypi_attestations import GitHubPublisher, GitLabPublisher, GooglePublisher

    kinds: dict[str, Any] = {"GitHub": GitHubPublisher, "GitLab": GitLabPublisher, "Google": GooglePublisher}
    kind = kinds.get(str(publisher.get("kind")))
    if kind is None:
        raise HubRefusal(f"{filename}: {publisher.get('kind')!r} is no known kind of publisher: {', '.join(kinds)}")
    try:
        return kind.model_validate(publisher)._as_policy()  # there is no public way to a policy
    except ValidationError as error:
        raise HubRefusal(f"{filename}: its publisher: {_first(error)}") from error


@lru_cache(maxsize=8)
def _verifier(trusted_root: Path | None) -> Verifier:
    from sigstore.errors import Error as SigstoreError
    from sigstore.models import TrustedRoot
    from sigstore.verify import Verifier

    if trusted_root is None:
        return Verifier.production(offline=True)
    try:
        return Verifier(trusted_root=TrustedRoot.from_file(str(trusted_root)))
    except (OSError, ValueError, SigstoreError) as error:
        reason = " ".join(str(error).split())[:300]
        raise HubRefusal(f"{trusted_root}: is no trusted root of sigstore: {reason}") from error


def _first(error: ValidationError) -> str:
    found = error.errors()[0]
    return f"{'.'.join(map(str, found['loc']))}: {found['msg']}"


def _named(publisher: Mapping[str, Any]) -> str:
    values = [str(value) for key, value in publisher.items() if key != "kind" and value is not None]
    return " ".join([str(publisher.get("kind")), *values])
