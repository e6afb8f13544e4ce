"""PNG files whose bytes are the same on every machine, and whose size says next to nothing.

zlib, zlib-ng and their versions compress alike pixels to unlike bytes. This encoder therefore writes the compressed
stream itself: one block with the fixed codes of DEFLATE (RFC 1951, 3.2.6), in which a line repeats the line above it
wherever it can, and otherwise its last pixel. It serves drawings, of whose lines most are like the one above.
"""

from __future__ import annotations

import re
import struct
import zlib
from base64 import b64encode
from functools import lru_cache
from typing import Any

__all__ = ["SIZE_STEP", "encode", "picture_part"]

SIZE_STEP = 16_384
"""The size of a file is a multiple of this many bytes, which holds any drawing of this package, so it tells nothing."""

_SHORTEST, _LONGEST = 3, 258
"""Bytes that a match may stand for."""
_CHANGED = re.compile(rb"[^\0]+")
_RUN = re.compile(rb"(.)\1*", re.DOTALL)
_LENGTHS = [*((3 + n, 0) for n in range(8)), *((3 + (4 + n % 4 << n // 4), n // 4) for n in range(4, 24)), (258, 0)]
"""First length and number of extra bits of each length code from 257 on; see :func:`_code`."""
_DISTANCES = [(1, 0), (2, 0), (3, 0), (4, 0), *((1 + (2 + n % 2 << n // 2), n // 2) for n in range(2, 28))]

Bits = tuple[int, int]
"""A value whose lowest bit is the first in the stream, and how many bits it has."""


def picture_part(png: bytes) -> dict[str, Any]:
    """Return the content part that shows a picture."""
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{b64encode(png).decode()}"}}


def encode(pixels: bytes, width: int, palette: bytes) -> bytes:
    """Return a picture as a PNG with a palette (https://www.w3.org/TR/png-3/).

    Args:
        pixels: the number of each pixel's colour, line by line, each below 144 and below the number of colours.
        width: pixels of a line, at most 32,767.
        palette: three bytes a colour.
    """
    height = len(pixels) // width
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = (_chunk(b"IHDR", header), _chunk(b"PLTE", palette), _chunk(b"IDAT", _deflated(pixels, width)))
    png = b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
    end = _chunk(b"IEND", b"")
    missing = -(len(png) + 12 + len(end)) % SIZE_STEP
    # A private chunk, which readers must skip, fills the file up.
    return png + _chunk(b"fiLl", bytes(missing)) + end


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _deflated(pixels: bytes, width: int) -> bytes:
    out = bytearray(b"\x78\x01")
    waiting, count = 0b011, 3  # the last block, with fixed codes
    above = b""
    lines = [b"\0" + pixels[start : start + width] for start in range(0, len(pixels), width)]
    for line in lines:
        value, bits = _line(line, above)
        waiting |= value << count
        count += bits
        whole = count // 8
        out += (waiting & (1 << 8 * whole) - 1).to_bytes(whole, "little")
        waiting >>= 8 * whole
        count -= 8 * whole
        above = line
    value, bits = _code(256)
    waiting |= value << count
    out += waiting.to_bytes((count + bits + 7) // 8, "little")
    return bytes(out) + struct.pack(">I", zlib.adler32(b"".join(lines)))


def _line(line: bytes, above: bytes) -> Bits:
    """Return a line in codes, given the line above it; empty for none."""
    if not above:
        return _joined(_runs(line))
    width = len(line)
    differences = (int.from_bytes(line, "big") ^ int.from_bytes(above, "big")).to_bytes(width, "big")
    codes: list[Bits] = []
    done = 0
    for changed in _CHANGED.finditer(differences):
        if changed.start() - done >= _SHORTEST:
            codes += _repeated(width, changed.start() - done)
            done = changed.start()
        codes += _runs(line[done : changed.end()])
        done = changed.end()
    if width - done >= _SHORTEST:
        codes += _repeated(width, width - done)
    else:
        codes += _runs(line[done:])
    return _joined(codes)


def _joined(codes: list[Bits]) -> Bits:
    value = count = 0
    for code, bits in codes:
        value |= code << count
        count += bits
    return value, count


def _runs(piece: bytes) -> list[Bits]:
    codes: list[Bits] = []
    for run in _RUN.finditer(piece):
        length = run.end() - run.start()
        literal = _code(piece[run.start()])
        if length <= _SHORTEST:
            codes += [literal] * length
        else:
            codes.append(literal)
            codes += _repeated(1, length - 1)
    return codes


@lru_cache(maxsize=4096)
def _repeated(distance: int, length: int) -> tuple[Bits, ...]:
    """Return the codes of ``length`` bytes like those ``distance`` before them."""
    codes = []
    while length:
        part = min(length, _LONGEST)
        if 0 < length - part < _SHORTEST:
            part -= _SHORTEST
        codes.append(_match(distance, part))
        length -= part
    return tuple(codes)


def _match(distance: int, length: int) -> Bits:
    number = max(n for n, (first, _) in enumerate(_LENGTHS) if first <= length)
    first, extra = _LENGTHS[number]
    value, count = _code(257 + number)
    value |= length - first << count
    count += extra
    number = max(n for n, (first, _) in enumerate(_DISTANCES) if first <= distance)
    first, extra = _DISTANCES[number]
    value |= _reversed(number, 5) << count
    count += 5
    return value | distance - first << count, count + extra


@lru_cache(maxsize=512)
def _code(symbol: int) -> Bits:
    """Return the fixed code of a literal (below 144), of the end of a block (256) or of a length."""
    if symbol < 144:
        return _reversed(0x30 + symbol, 8), 8
    if symbol < 280:
        return _reversed(symbol - 256, 7), 7
    return _reversed(0xC0 + symbol - 280, 8), 8


def _reversed(value: int, bits: int) -> int:
    return int(f"{value:0{bits}b}"[::-1], 2)
