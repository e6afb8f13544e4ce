"""A permutation that needs no memory: an order for a set of any size."""

from __future__ import annotations

from math import isqrt

__all__ = ["Permutation"]

_WORD = (1 << 64) - 1
_ODD = 0x9E3779B97F4A7C15
_ROUNDS = 6


class Permutation:
    """A permutation of the numbers 0 … ``size`` - 1 that is a pure function of ``key``, on every platform.

    The generalised Feistel network with cycle walking of Black and Rogaway, "Ciphers with Arbitrary Finite
    Domains", CT-RSA 2002, sections 4 and 5: a number is written as two digits to the bases a and b with
    a·b ≥ ``size``, each round adds a function of one digit to the other, and a result beyond the last number
    goes through the network again. Each round is invertible, so every number comes out once. The order needs no
    secrecy: the round function is the middle of a square. Every number is as likely as any other to
    come first; of the n! orders of fewer than about fifty numbers, some are a little likelier than others.

    Args:
        size: number of numbers, at least 1.
        key: any int of 64 bits.
    """

    __slots__ = ("_high", "_keys", "_low", "size")

    def __init__(self, size: int, key: int) -> None:
        self.size = size
        low = isqrt(size - 1) + 1
        self._low, self._high = low, -(-size // low)
        self._keys = [_mixed(key + turn) for turn in range(1, _ROUNDS + 1)]

    def __getitem__(self, position: int) -> int:
        """Return the number at a position from 0 to ``size`` - 1, without a check of the range."""
        a, b = self._low, self._high
        k1, k2, k3, k4, k5, k6 = self._keys
        number = position
        while True:
            right, left = divmod(number, a)
            k = (right ^ k1) * _ODD & _WORD
            left = (left + (k * k >> 48)) % a
            k = (left ^ k2) * _ODD & _WORD
            right = (right + (k * k >> 48)) % b
            k = (right ^ k3) * _ODD & _WORD
            left = (left + (k * k >> 48)) % a
            k = (left ^ k4) * _ODD & _WORD
            right = (right + (k * k >> 48)) % b
            k = (right ^ k5) * _ODD & _WORD
            left = (left + (k * k >> 48)) % a
            k = (left ^ k6) * _ODD & _WORD
            right = (right + (k * k >> 48)) % b
            number = right * a + left
            if number < self.size:
                return number


def _mixed(number: int) -> int:
    """Return the ``number``-th output of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    z = number * _ODD & _WORD
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _WORD
    return z ^ z >> 31
