"""Verification of Ed25519 signatures (RFC 8032), strict: one signature is valid or not, whatever library checks it.

Libraries differ on encodings that no honest signer makes. These are refused first: a scalar that is not below the
group's order, a coordinate that is not below the field's prime, and the keys and commitments of small order, for
which one signature fits many messages (Chalkias et al., "Taming the many EdDSAs", 2020). What is left goes to
``cryptography`` where it is installed, and to the arithmetic of this module elsewhere.
"""

from __future__ import annotations

from hashlib import sha512

__all__ = ["is_valid_key", "verify_signature", "verify_without_library"]

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P
_ROOT_OF_MINUS_ONE = pow(2, (_P - 1) // 4, _P)
_SMALL = 2707385501144840649318225287225658788936804267575313519463743609750303402022
"""The y coordinate of half the points of order eight; that of the others is its negative."""
_SMALL_ORDER = frozenset({0, 1, _P - 1, _SMALL, _P - _SMALL})

_Point = tuple[int, int, int, int]
"""Extended coordinates X, Y, Z, T with x = X/Z, y = Y/Z, xy = T/Z."""


def is_valid_key(key: bytes) -> bool:
    """Return whether bytes encode a point that can be a public key: canonical, on the curve, and of large order."""
    return len(key) == 32 and _is_strict(key) and _decompressed(key) is not None


def verify_signature(key: bytes, signature: bytes, message: bytes) -> bool:
    """Return whether a signature of 64 bytes is that of a message under a public key of 32 bytes."""
    if not _is_well_formed(key, signature):
        return False
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        return verify_without_library(key, signature, message)
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def verify_without_library(key: bytes, signature: bytes, message: bytes) -> bool:
    """Do what :func:`verify_signature` does with Python's own integers."""
    if not _is_well_formed(key, signature):
        return False
    public = _decompressed(key)
    if public is None:
        return False
    scalar = int.from_bytes(signature[32:], "little")
    challenge = int.from_bytes(sha512(signature[:32] + key + message).digest(), "little") % _ORDER
    negative = (_P - public[0], public[1], public[2], _P - public[3])
    # No point is decoded from the commitment: the one encoding of the right point is compared.
    return _compressed(_combination(scalar, _BASE, challenge, negative)) == signature[:32]


def _is_well_formed(key: bytes, signature: bytes) -> bool:
    return (
        len(key) == 32
        and len(signature) == 64
        and int.from_bytes(signature[32:], "little") < _ORDER
        and _is_strict(key)
        and _is_strict(signature[:32])
    )


def _is_strict(point: bytes) -> bool:
    y = int.from_bytes(point, "little") & (1 << 255) - 1
    return y < _P and y not in _SMALL_ORDER


def _decompressed(encoded: bytes) -> _Point | None:
    """Return the point of an encoding (RFC 8032, 5.1.3); None if there is none on the curve."""
    number = int.from_bytes(encoded, "little")
    y, sign = number & (1 << 255) - 1, number >> 255
    numerator, denominator = (y * y - 1) % _P, (_D * y * y + 1) % _P
    x = numerator * pow(denominator, 3, _P) * pow(numerator * pow(denominator, 7, _P), (_P - 5) // 8, _P) % _P
    if (denominator * x * x - numerator) % _P:
        x = x * _ROOT_OF_MINUS_ONE % _P
    if (denominator * x * x - numerator) % _P or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = _P - x
    return x, y, 1, x * y % _P


def _compressed(point: _Point) -> bytes:
    x, y, z, _ = point
    inverse = pow(z, _P - 2, _P)
    return (y * inverse % _P | (x * inverse % _P & 1) << 255).to_bytes(32, "little")


def _added(first: _Point, second: _Point) -> _Point:
    """Return the sum of two points (RFC 8032, 5.1.4)."""
    x1, y1, z1, t1 = first
    x2, y2, z2, t2 = second
    a, b = (y1 - x1) * (y2 - x2) % _P, (y1 + x1) * (y2 + x2) % _P
    c, d = 2 * t1 * t2 * _D % _P, 2 * z1 * z2 % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _doubled(point: _Point) -> _Point:
    x, y, z, _ = point
    a, b, c = x * x % _P, y * y % _P, 2 * z * z % _P
    h = a + b
    e, g = h - (x + y) * (x + y) % _P, a - b
    f = c + g
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _combination(first: int, base: _Point, second: int, other: _Point) -> _Point:
    """Return ``first * base + second * other``, bit by bit for both at once."""
    both = _added(base, other)
    result: _Point = (0, 1, 1, 0)
    for bit in range(max(first.bit_length(), second.bit_length()) - 1, -1, -1):
        result = _doubled(result)
        chosen = (first >> bit & 1) + 2 * (second >> bit & 1)
        if chosen:
            result = _added(result, (base, other, both)[chosen - 1])
    return result


def _base() -> _Point:
    point = _decompressed((4 * pow(5, _P - 2, _P) % _P).to_bytes(32, "little"))
    assert point is not None
    return point


_BASE = _base()
