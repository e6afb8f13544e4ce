"""Ed25519 signatures: the vectors of RFC 8032, agreement with a library, and encodings that no signer makes."""

from __future__ import annotations

import builtins
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given, settings
from hypothesis import strategies as st

from gem_hub_client.trust import ed25519
from gem_hub_client.trust.ed25519 import is_valid_key, verify_signature, verify_without_library

ORDER = 2**252 + 27742317777372353535851937790883648493
P = 2**255 - 19

RFC_8032 = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe2465"
        "5141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb0"
        "0d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc0"
        "27beceea1ec40a",
    ),
]
"""Public key, message and signature of the tests 1 to 3 in section 7.1."""


def library(key: bytes, signature: bytes, message: bytes) -> bool:
    """Return what cryptography says."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


@pytest.mark.parametrize("vector", RFC_8032, ids=["empty", "one", "two"])
def test_the_vectors_of_the_standard_hold(vector: tuple[str, str, str]) -> None:
    """Both ways accept the standard's signatures, and none of them for another message."""
    key, message, signature = map(bytes.fromhex, vector)
    for verify in (verify_signature, verify_without_library):
        assert verify(key, signature, message)
        assert not verify(key, signature, message + b"!")


@settings(max_examples=60, deadline=None)
@given(st.binary(min_size=32, max_size=32), st.binary(max_size=80), st.integers(0, 96 * 8 - 1))
def test_both_ways_agree_with_the_library(seed: bytes, message: bytes, bit: int) -> None:
    """A signature is valid for all three; with one bit of key or signature changed, all three say the same."""
    private = Ed25519PrivateKey.from_private_bytes(seed)
    key, signature = private.public_key().public_bytes_raw(), private.sign(message)
    assert verify_signature(key, signature, message)
    assert verify_without_library(key, signature, message)
    changed = bytearray(key + signature)
    changed[bit // 8] ^= 1 << bit % 8
    key, signature = bytes(changed[:32]), bytes(changed[32:])
    expected = library(key, signature, message)
    assert verify_signature(key, signature, message) == verify_without_library(key, signature, message) == expected


def test_a_scalar_beyond_the_order_is_refused() -> None:
    """The same signature with the order added to its scalar is another encoding of it."""
    key, message, signature = map(bytes.fromhex, RFC_8032[1])
    scalar = int.from_bytes(signature[32:], "little") + ORDER
    malleable = signature[:32] + scalar.to_bytes(32, "little")
    assert not verify_signature(key, malleable, message)
    assert not verify_without_library(key, malleable, message)


def small_points() -> list[bytes]:
    """Return the encodings of the points of order 1, 2, 4 and 8, computed as multiples of the base point's cofactor."""
    found = set()
    for y in range(2, 400):
        point = ed25519._decompressed(y.to_bytes(32, "little"))
        if point is not None:  # times the order of the large subgroup, only the small part is left
            found.add(ed25519._compressed(ed25519._combination(ORDER, point, 0, (0, 1, 1, 0))))
    return sorted(found)


def test_every_point_of_small_order_is_refused() -> None:
    """There are eight of them; with such a key, one signature would fit many messages."""
    points = small_points()
    assert len(points) == 8
    for point in points:
        assert not is_valid_key(point)
        # R = S = 0 times the base point: valid for a naive verifier whenever the challenge times the key vanishes.
        assert not verify_signature(point, (1).to_bytes(32, "little") + bytes(32), b"anything")
        assert not verify_without_library(point, point + bytes(32), b"anything")


@pytest.mark.parametrize("y", [P, P + 1, 2**255 - 1])
def test_coordinates_beyond_the_field_are_refused(y: int) -> None:
    """A second encoding of the same point is none."""
    assert not is_valid_key(y.to_bytes(32, "little"))


@pytest.mark.parametrize("length", [0, 31, 33, 63, 65])
def test_other_lengths_are_refused(length: int) -> None:
    """Keys have 32 bytes and signatures 64."""
    key, message, signature = map(bytes.fromhex, RFC_8032[0])
    assert not verify_signature(key, (signature * 2)[:length], message)
    assert not verify_signature((key * 3)[:length], signature, message)
    assert not is_valid_key((key * 3)[:length])


def test_it_works_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where cryptography is not installed, Python's own integers do."""
    real = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith("cryptography"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    key, message, signature = map(bytes.fromhex, RFC_8032[2])
    assert verify_signature(key, signature, message)
    assert not verify_signature(key, signature, b"")
