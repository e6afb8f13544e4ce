"""Private keys in files: PKCS #8 (PEM), encrypted if a passphrase is given, as ``gem hub keys new`` writes them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from gem_hub_client.errors import HubError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = ["PASSPHRASE", "load_private_key"]

PASSPHRASE = "GEM_HUB_PASSPHRASE"  # noqa: S105  # the name of a variable
"""The environment variable with the passphrase of private keys."""


def load_private_key(path: Path, passphrase: bytes | None = None) -> Ed25519PrivateKey:
    """Return the private key in a file. Needs ``cryptography``.

    Args:
        path: the file.
        passphrase: the one that decrypts it; the environment's (:data:`PASSPHRASE`) if None.

    Raises:
        HubError: if the file cannot be read, or holds no Ed25519 key.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    given = passphrase if passphrase is not None else os.environ.get(PASSPHRASE, "").encode() or None
    try:
        content = path.read_bytes()
    except OSError as error:
        raise HubError(f"{path}: cannot be read: {error.strerror or error}") from error
    try:
        private = load_pem_private_key(content, given if b"ENCRYPTED" in content else None)
    except TypeError as error:
        raise HubError(f"{path}: is encrypted; set {PASSPHRASE} to its passphrase") from error
    except ValueError as error:
        raise HubError(f"{path}: is no private key in PEM, or the passphrase is wrong") from error
    if not isinstance(private, Ed25519PrivateKey):
        raise HubError(f"{path}: holds another key than an Ed25519 one; make one with: gem hub keys new")
    return private
