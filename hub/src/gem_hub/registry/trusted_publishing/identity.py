"""Verification of identity tokens: JSON web tokens (RFC 7519) of a trusted issuer for this hub, signed with RS256.

Rules beyond RFC 7519 follow its best practice (RFC 8725): one algorithm, the issuer selects the key, one audience, no
key material from the token.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gem_hub.registry.trusted_publishing.errors import IdentityRefused
from gem_hub.registry.trusted_publishing.issuers import Issuer, Issuers
from gem_hub.registry.trusted_publishing.key_sets import KeySets

__all__ = ["LEEWAY", "VerifiedIdentity", "Verifier"]

LEEWAY = 30
"""Seconds by which clocks may differ."""
LONGEST_LIFE = 86_400
"""Seconds between ``iat`` and ``exp``; GitHub's tokens live for minutes, GitLab's as long as the job."""
_LARGEST = 16 * 1024
"""Characters of a token; real ones have some two thousand."""
_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")
_KID = re.compile(r"[A-Za-z0-9_.:=+/-]{1,200}")
_OWN_KEYS = ("jku", "jwk", "x5u", "x5c")
REQUIRED = ("iss", "sub", "aud", "iat", "exp", "jti")


@dataclass(frozen=True)
class VerifiedIdentity:
    """The content of a verified token."""

    issuer: Issuer
    claims: Mapping[str, Any]

    @property
    def token_id(self) -> str:
        """The claim ``jti``."""
        return str(self.claims["jti"])

    @property
    def expires(self) -> int:
        """Seconds since 1970 after which the token, with leeway, is refused for its age."""
        return int(self.claims["exp"]) + LEEWAY


class Verifier:
    """Verifies identity tokens.

    Args:
        issuers: the trusted issuers.
        audience: the claim ``aud`` of tokens for this hub.
        keys: the issuers' keys.
    """

    def __init__(self, issuers: Issuers, audience: str, keys: KeySets | None = None) -> None:
        self.issuers = issuers
        self.audience = audience
        self._keys = keys or KeySets()

    def verify(self, token: object) -> VerifiedIdentity:
        """Return who a token speaks for.

        Raises:
            IdentityRefused: if the token is not a valid one for this hub; the message names the reason.
            IssuerUnreachable: if the issuer's keys cannot be had now.
        """
        import jwt

        if not isinstance(token, str) or len(token) > _LARGEST or not _TOKEN.fullmatch(token):
            raise IdentityRefused("token-malformed", "the identity token is no JSON web token; request one with RS256")
        try:
            header = jwt.get_unverified_header(token)
            unverified = jwt.decode(token, options={"verify_signature": False})
        except (jwt.PyJWTError, ValueError, RecursionError) as error:
            raise IdentityRefused("token-malformed", f"the identity token cannot be read: {_said(error)}") from error
        issuer = self.issuers.at(unverified.get("iss"))
        if issuer is None:
            names = ", ".join(one.url for one in self.issuers)
            raise IdentityRefused(
                "unknown-issuer",
                f"the issuer {_said(unverified.get('iss'))!r} is not trusted here; this hub knows {names}",
            )
        key = self._keys.key(issuer, _checked_header(header))
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=["RS256"],
                audience=self.audience,
                issuer=issuer.url,
                leeway=LEEWAY,
                options={"require": list(REQUIRED), "strict_aud": True},
            )
        except (jwt.PyJWTError, ValueError, OverflowError) as error:
            raise IdentityRefused(_code(error), f"the identity token is refused: {_said(error)}") from error
        if int(claims["exp"]) - int(claims["iat"]) > LONGEST_LIFE:
            raise IdentityRefused("token-lifetime", f"the identity token is valid for more than {LONGEST_LIFE} seconds")
        if not isinstance(claims["jti"], str) or not 0 < len(claims["jti"]) <= 255:
            raise IdentityRefused("token-id", "the claim jti is no text of 1 to 255 characters")
        return VerifiedIdentity(issuer, claims)


def _checked_header(header: Mapping[str, Any]) -> str:
    """Return the kid of a header that names neither another algorithm nor keys of its own."""
    if header.get("alg") != "RS256":
        raise IdentityRefused("algorithm", f"the identity token is signed with {_said(header.get('alg'))!r}, not RS256")
    if str(header.get("typ", "JWT")).upper() != "JWT":
        raise IdentityRefused("token-type", f"the token has the type {_said(header['typ'])!r}, not JWT")
    for name in (*_OWN_KEYS, "crit", "b64"):
        if name in header:
            raise IdentityRefused(
                "token-header", f"the header of the identity token has {name!r}, which is not allowed"
            )
    kid = header.get("kid")
    if not isinstance(kid, str) or not _KID.fullmatch(kid):
        raise IdentityRefused("key-id", "the header of the identity token has no usable kid")
    return kid


def _code(error: Exception) -> str:
    import jwt

    codes: dict[type[Exception], str] = {
        jwt.ExpiredSignatureError: "token-expired",
        jwt.ImmatureSignatureError: "token-from-the-future",
        jwt.InvalidAudienceError: "audience",
        jwt.InvalidSignatureError: "signature",
        jwt.MissingRequiredClaimError: "missing-claim",
    }
    return codes.get(type(error), "token-invalid")


def _said(value: object) -> str:
    return "".join(character if character.isprintable() else " " for character in str(value))[:200]
