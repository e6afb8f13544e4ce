"""A tokenizer without a vocabulary: a token is one byte, or two.

It is exact both ways and needs no file. Most texts have many tokenizations, of which :func:`encode` returns the
canonical one; a server that samples another shows whether a client keeps sampled ids or tokenizes the text again.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from functools import lru_cache

__all__ = ["ASSISTANT", "END", "IMAGE", "ROLES", "SPECIAL", "decode", "encode", "encode_special", "piece", "split"]

PAIRS = 256
"""Id of the pair of two zero bytes. The ids below are single bytes."""
FIRST_SPECIAL = PAIRS + 65536
SPECIAL = {
    name: FIRST_SPECIAL + index
    for index, name in enumerate(("<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|end|>", "<|image|>"))
}
"""Text → id of the tokens that no text encodes to."""
ASSISTANT, END, IMAGE = SPECIAL["<|assistant|>"], SPECIAL["<|end|>"], SPECIAL["<|image|>"]
ROLES = {SPECIAL[f"<|{role}|>"]: role for role in ("system", "user", "assistant", "tool")}
_NAMES = {token: name.encode() for name, token in SPECIAL.items()}
_SPECIALS = re.compile("|".join(re.escape(name) for name in SPECIAL))


def encode(text: str) -> list[int]:
    """Return the canonical ids of a text: pairs from its beginning, and one single byte where the number is odd.

    Lone surrogates, which UTF-8 cannot hold, become question marks.
    """
    data = text.encode("utf-8", "replace")
    pairs = len(data) // 2
    ids = [PAIRS + value for value in struct.unpack_from(f">{pairs}H", data)]
    if len(data) % 2:
        ids.append(data[-1])
    return ids


def encode_special(text: str) -> list[int]:
    """Return the ids of a text in which the names of special tokens mean those tokens."""
    ids: list[int] = []
    start = 0
    for match in _SPECIALS.finditer(text):
        ids += encode(text[start : match.start()])
        ids.append(SPECIAL[match[0]])
        start = match.end()
    return ids + encode(text[start:])


def split(ids: list[int], index: int) -> list[int]:
    """Return ids of the same text in which the pair at ``index`` is two single bytes."""
    high, low = divmod(ids[index] - PAIRS, 256)
    return [*ids[:index], high, low, *ids[index + 1 :]]


def decode(ids: Iterable[int]) -> str:
    """Return the text of ids; incomplete characters become U+FFFD, and unknown ids are left out."""
    return b"".join(map(token_bytes, ids)).decode("utf-8", "replace")


@lru_cache(maxsize=65536)
def token_bytes(token: int) -> bytes:
    """Return the bytes of one token."""
    if token < 0:
        return b""
    if token < PAIRS:
        return bytes((token,))
    if token < FIRST_SPECIAL:
        return (token - PAIRS).to_bytes(2, "big")
    return _NAMES.get(token, b"")


@lru_cache(maxsize=65536)
def piece(token: int) -> str:
    """Return the text of one token alone, as servers print it beside its log-probability."""
    return token_bytes(token).decode("utf-8", "replace")
