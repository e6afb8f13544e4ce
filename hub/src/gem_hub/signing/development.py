"""The development keys of the official index: everybody can make them, so what they sign proves nothing.

They stand in for the release keys, which come with the first release, so that signing, publishing and updating the
official index are the same code before and after. Clients say so wherever they meet them.
"""

from __future__ import annotations

from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from securesystemslib.signer import CryptoSigner

from gem_hub.signing.roots import dumped, first_root, sign_root

__all__ = ["development_key", "development_root"]

_DAYS = 3650


def development_key(role: str) -> CryptoSigner:
    """Return a development key, which is derived from the name of its role (``root`` or ``online``) alone."""
    return CryptoSigner(Ed25519PrivateKey.from_private_bytes(sha256(f"GEM development key: {role}".encode()).digest()))


def development_root() -> bytes:
    """Return a first root of the development keys, which says what they are."""
    root = first_root(
        [development_key("root").public_key], 1, development_key("online").public_key, _DAYS, development=True
    )
    sign_root(root, [development_key("root")])
    return dumped(root)
