"""The public keys of issuers: fetched over TLS from the issuer alone, bounded, and kept for some minutes.

The server fetches only from addresses that its operator configured. No address in a token (``jku``, ``x5u``) is used.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gem_hub.registry.trusted_publishing.errors import IdentityRefused, IssuerUnreachable
from gem_hub.registry.trusted_publishing.issuers import Issuer

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

__all__ = ["KeySets"]

Fetch = Callable[[str], bytes]

KEPT = 600.0
"""Seconds for which keys are used without asking again, and so the longest life of a withdrawn key."""
PAUSE = 30.0
"""Seconds between two requests to one issuer, whatever tokens ask for."""
_TIMEOUT = 5.0
_LARGEST = 256 * 1024
"""Bytes of a document of keys; real ones have some ten thousand."""
_MOST_KEYS = 64
_FEWEST_BITS, _MOST_BITS = 2048, 8192


@dataclass
class _KeySet:
    keys: dict[str, RSAPublicKey] = field(default_factory=dict)
    fetched: float = float("-inf")
    """When the keys were fetched."""
    asked: float = float("-inf")
    """When the issuer was asked last, with or without success."""
    failure: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)


class KeySets:
    """The keys of all issuers.

    Args:
        fetch: returns the bytes at an https address; raises OSError or ValueError.
        clock: returns seconds that never decrease.
    """

    def __init__(self, fetch: Fetch | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._fetch = fetch or fetch_document
        self._clock = clock
        self._sets: dict[str, _KeySet] = {}
        self._lock = threading.Lock()

    def key(self, issuer: Issuer, kid: str) -> RSAPublicKey:
        """Return an issuer's key.

        Raises:
            IssuerUnreachable: if the keys cannot be fetched, or are not acceptable.
            IdentityRefused: if the issuer has no such key.
        """
        with self._lock:
            known = self._sets.setdefault(issuer.url, _KeySet())
        with known.lock:
            now = self._clock()
            expired = now - known.fetched > KEPT
            if (expired or kid not in known.keys) and now - known.asked >= PAUSE:
                known.asked = now
                try:
                    known.keys = _parse(self._fetch(self._address(issuer)))
                except (OSError, ValueError, RecursionError) as error:
                    known.failure = f"the keys of {issuer.name} cannot be had: {_short(error)}"
                else:
                    known.fetched, known.failure, expired = now, "", False
            if expired:
                raise IssuerUnreachable("issuer-unreachable", f"{known.failure}; try again in a minute")
            if kid not in known.keys:
                raise IdentityRefused("unknown-key", f"{issuer.name} has no key {kid[:80]!r}; request a new token")
            return known.keys[kid]

    def _address(self, issuer: Issuer) -> str:
        if issuer.jwks_url:
            return issuer.jwks_url
        document = json.loads(self._fetch(f"{issuer.url.rstrip('/')}/.well-known/openid-configuration"))
        if not isinstance(document, dict) or document.get("issuer") != issuer.url:
            raise ValueError("its discovery document is about another issuer")
        address = document.get("jwks_uri")
        own, other = urlsplit(issuer.url), urlsplit(address if isinstance(address, str) else "")
        if (own.scheme, own.netloc.lower()) != (other.scheme, other.netloc.lower()):
            raise ValueError(f"its discovery document names keys at another origin, {_short(address)!r}")
        return str(address)


def fetch_document(url: str) -> bytes:
    """Return the small document at an https address; redirects are refused.

    Raises:
        OSError: if the server cannot be reached, is too slow, or answers anything but 200.
        ValueError: if the document is too large.
    """
    from http.client import HTTPException
    from urllib import request
    from urllib.error import HTTPError

    opener = request.OpenerDirector()
    # Without a handler for redirects they are errors, as is every other answer but a success.
    for handler in (
        request.ProxyHandler(),
        request.HTTPSHandler(),
        request.HTTPDefaultErrorHandler(),
        request.HTTPErrorProcessor(),
        request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    deadline = time.monotonic() + 2 * _TIMEOUT
    content = bytearray()
    try:
        with opener.open(request.Request(url, headers={"Accept": "application/json"}), timeout=_TIMEOUT) as response:  # noqa: S310  # https alone: see Issuer
            while block := response.read1(1 << 14):
                content += block
                if len(content) > _LARGEST:
                    raise ValueError(f"the document has more than {_LARGEST:,} bytes")
                if time.monotonic() > deadline:
                    raise OSError("the issuer answers too slowly")
    except HTTPError as error:
        error.close()
        what = "redirects, which is not followed" if 300 <= error.code < 400 else "has no such document"
        raise OSError(f"the issuer answers {error.code}: it {what}") from error
    except HTTPException as error:
        raise OSError(f"the issuer does not speak HTTP: {error!r}") from error
    return bytes(content)


def _parse(content: bytes) -> dict[str, RSAPublicKey]:
    """Return kid → key of every RSA key for signatures; other kinds of keys are ignored.

    Raises:
        ValueError: if the document is no key set, or two keys share a kid, or an RSA key is too short or too long.
    """
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from jwt.algorithms import RSAAlgorithm
    from jwt.exceptions import InvalidKeyError

    document = json.loads(content)
    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise ValueError("the document is no key set")
    if len(listed) > _MOST_KEYS:
        raise ValueError(f"the key set has {len(listed)} keys, more than {_MOST_KEYS}")
    keys: dict[str, RSAPublicKey] = {}
    for one in listed:
        kid = one.get("kid")
        if one.get("kty") != "RSA" or one.get("use", "sig") != "sig" or one.get("alg", "RS256") != "RS256":
            continue
        if not isinstance(kid, str) or not kid:
            raise ValueError("an RSA key has no kid")
        if kid in keys:
            raise ValueError(f"the key set has two keys {kid[:80]!r}")
        if "d" in one:
            raise ValueError(f"the key {kid[:80]!r} is a private key")
        modulus = one.get("n")
        if not isinstance(modulus, str) or len(modulus) > _MOST_BITS // 4:
            raise ValueError(f"the key {kid[:80]!r} has no modulus of at most {_MOST_BITS} bits")
        try:
            key = RSAAlgorithm.from_jwk({name: one[name] for name in ("kty", "n", "e") if name in one})
        except (InvalidKeyError, TypeError, ValueError) as error:
            raise ValueError(f"the key {kid[:80]!r} is no RSA key: {error}") from error
        assert isinstance(key, RSAPublicKey)  # it was built from the public members alone
        if not _FEWEST_BITS <= key.key_size <= _MOST_BITS:
            raise ValueError(f"the key {kid[:80]!r} has {key.key_size} bits, not {_FEWEST_BITS} to {_MOST_BITS}")
        keys[kid] = key
    if not keys:
        raise ValueError("the key set has no RSA key for signatures")
    return keys


def _short(error: object) -> str:
    reason = getattr(error, "reason", None) or error
    return "".join(character if character.isprintable() else " " for character in str(reason))[:200]
