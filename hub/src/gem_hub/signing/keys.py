"""Private and public keys in files.

A private key is a PKCS #8 file (PEM), encrypted if a passphrase is given. Beside it lies ``NAME.pub``: the public key
as TUF's metadata holds it, for those who put it into a root on another machine.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from securesystemslib.signer import CryptoSigner, Key, SSlibKey

from gem_hub.errors import HubRefusal
from gem_hub_client.errors import HubError
from gem_hub_client.private_keys import load_private_key

__all__ = ["create_key", "load_key", "load_public_key", "public_name"]


def create_key(path: Path, passphrase: bytes | None = None) -> CryptoSigner:
    """Create a private key, readable by its owner alone, and the public key beside it.

    Raises:
        HubRefusal: if one of the files exists, or cannot be written.
    """
    signer = CryptoSigner.generate_ed25519()
    encryption = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
    private = signer._private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)  # no other way
    public = signer.public_key
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for target, content, mode in ((path, private, 0o600), (public_name(path), _public_text(public), 0o644)):
            number = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with os.fdopen(number, "wb") as file:
                file.write(content)
    except FileExistsError as error:
        raise HubRefusal(f"{error.filename}: exists, and a key is never written over; choose another name") from error
    except OSError as error:
        raise HubRefusal(f"{path}: cannot be written: {error.strerror or error}") from error
    return signer


def load_key(path: Path, passphrase: bytes | None = None) -> CryptoSigner:
    """Return the signer of a private key.

    Args:
        path: the file.
        passphrase: the one that decrypts it; the environment's (``GEM_HUB_PASSPHRASE``) if None.

    Raises:
        HubRefusal: if the file cannot be read, or holds no Ed25519 key.
    """
    try:
        return CryptoSigner(load_private_key(path, passphrase))
    except HubError as error:
        raise HubRefusal(str(error)) from error


def load_public_key(path: Path) -> Key:
    """Return the public key in ``NAME.pub``.

    Raises:
        HubRefusal: if the file holds none.
    """
    try:
        document: Any = json.loads(path.read_bytes())
        key = SSlibKey.from_dict(document["keyid"], {name: document[name] for name in ("keytype", "scheme", "keyval")})
        if key.keytype != "ed25519":
            raise ValueError(f"its type is {key.keytype!r}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HubRefusal(f"{path}: is no public key as gem hub keys new writes it: {error}") from error
    return key


def public_name(path: Path) -> Path:
    """Return the path of the public key beside a private one."""
    return path.with_name(f"{path.name}.pub")


def _public_text(key: Key) -> bytes:
    return (json.dumps({"keyid": key.keyid, **key.to_dict()}, indent=1, sort_keys=True) + "\n").encode()
