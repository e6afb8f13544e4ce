"""The signature of a result: an envelope of DSSE with one Ed25519 signature by the key that the result names.

The form is that of the hub's own statements on conformance; the key is the publisher's. A hub binds it to the account
that published the first result with it, see ``gem_hub.results.admission``.
"""

from __future__ import annotations

import base64
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gem_hub_client.errors import HubError
from gem_hub_client.folders import config_file
from gem_hub_client.private_keys import load_private_key
from gem_hub_client.results.record import PAYLOAD_LIMIT, ResultError, ResultRecord, read_payload
from gem_hub_client.trust.ed25519 import verify_signature
from gem_hub_client.trust.statements import PAYLOAD_TYPE, pre_authentication

__all__ = ["PublisherKey", "open_envelope", "payload_in"]

_KEY_FILE = "results.key"


def payload_in(envelope: Any) -> bytes:
    """Return the payload of an envelope, which proves nothing yet.

    Raises:
        ResultError: if it has none.
    """
    try:
        encoded = envelope["payload"]
        if not isinstance(encoded, str) or len(encoded) > PAYLOAD_LIMIT * 4 // 3 + 4:
            raise ValueError(f"its payload is no text, or has over {PAYLOAD_LIMIT:,} bytes")
        payload = base64.b64decode(encoded, validate=True)
        if base64.b64encode(payload).decode() != encoded:
            raise ValueError("its payload is not in the one form of base64")
    except (ValueError, KeyError, TypeError) as error:
        raise ResultError(f"this is no envelope of a result: {error!s:.200}") from None
    return payload


def open_envelope(envelope: Any) -> tuple[ResultRecord, bytes]:
    """Return the result in an envelope, and its payload, if the key that it names has signed it.

    Raises:
        ResultError: if the envelope or the result is not what it must be, or the signature is not by that key.
    """
    payload = payload_in(envelope)
    record = read_payload(payload)
    try:
        (signature,) = envelope["signatures"]
        fits = envelope.keys() == {"payload", "payloadType", "signatures"} and envelope["payloadType"] == PAYLOAD_TYPE
        if not fits or signature.keys() != {"keyid", "sig"} or signature["keyid"] != record.key:
            raise ValueError("its signature is by another key than the result names")
        signed = base64.b64decode(signature["sig"], validate=True)
        if base64.b64encode(signed).decode() != signature["sig"]:
            raise ValueError("its signature is not in the one form of base64")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ResultError(f"this is no envelope of a result: {error!s:.200}") from None
    if not verify_signature(bytes.fromhex(record.key), signed, pre_authentication(payload)):
        raise ResultError(f"the signature is not by the key {record.key[:16]}… that the result names")
    return record, payload


class PublisherKey:
    """The private key of a publisher of results, in PKCS #8 as ``gem hub keys new`` writes it.

    Args:
        path: its file. Without one it is ``results.key`` in the configuration folder, made on first use.

    Raises:
        HubError: if the file holds no Ed25519 key, or ``cryptography`` is not installed.
    """

    def __init__(self, path: Path | None = None) -> None:
        if find_spec("cryptography") is None:
            raise HubError("signing a result needs cryptography; run: pip install 'gem-hub-client[sign]'")
        self.path = path or config_file().with_name(_KEY_FILE)
        if path is None and not self.path.exists():
            _create(self.path)
        self._private = load_private_key(self.path)

    @property
    def public(self) -> str:
        """The public key in hex."""
        return self._private.public_key().public_bytes_raw().hex()

    def envelope(self, payload: bytes) -> dict[str, Any]:
        """Return a signed payload."""
        signature = self._private.sign(pre_authentication(payload))
        return {
            "payloadType": PAYLOAD_TYPE,
            "payload": base64.b64encode(payload).decode(),
            "signatures": [{"keyid": self.public, "sig": base64.b64encode(signature).decode()}],
        }


def _create(path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    content = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
    except FileExistsError:  # another process has just made it
        return
    except OSError as error:
        raise HubError(f"{path}: cannot be written: {error.strerror or error}") from error
