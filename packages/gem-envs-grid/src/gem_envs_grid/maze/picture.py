"""VisualMaze: the same maze as a picture."""

from __future__ import annotations

import struct
import zlib
from base64 import b64decode, b64encode
from functools import lru_cache
from typing import Any

from gem.core import Info, Observation
from gem.policies import Policy
from gem_envs_grid.maze.env import AGENT, BEYOND, MazeEnv, MazePolicy
from gem_envs_grid.maze.generator import DOORS, FLOOR, GOAL, KEYS, WALL

__all__ = ["COLOURS", "VisualMazeEnv", "VisualMazePolicy", "maze_picture", "read_maze_picture"]

COLOURS = {
    "white": (255, 255, 255),
    "black": (40, 40, 40),
    "grey": (160, 160, 160),
    "blue": (31, 119, 180),
    "green": (44, 160, 44),
    "red": (214, 39, 40),
    "orange": (255, 127, 14),
    "yellow": (255, 217, 47),
    "purple": (148, 80, 200),
    "pink": (247, 150, 200),
    "brown": (120, 72, 40),
}
"""Name → red, green and blue. The order is that of the palette in a picture; the last six are those of keys."""

_SIDE = 10
"""Pixels of the side of a wall, passage or cell."""
_EDGE = 3
"""Pixels of floor around an agent, a goal or a key, which a door does not have."""

_NAMES = tuple(COLOURS)
_KEY_COLOURS = _NAMES[5:]
_FILLED = {WALL: 1, BEYOND: 2, FLOOR: 0, **{door: 5 + number for number, door in enumerate(DOORS)}}
_INSET = {AGENT: 3, GOAL: 4, **{key: 5 + number for number, key in enumerate(KEYS)}}


def _lines_of(symbol: str) -> tuple[bytes, bytes]:
    """Return the line of pixels at the top of a symbol, and the one through its middle, two pixels in a byte."""
    if symbol in _FILLED:
        line = _packed([_FILLED[symbol]] * _SIDE)
        return line, line
    edge = [0] * _EDGE
    return _packed([0] * _SIDE), _packed([*edge, *[_INSET[symbol]] * (_SIDE - 2 * _EDGE), *edge])


def _packed(pixels: list[int]) -> bytes:
    return bytes(left << 4 | right for left, right in zip(pixels[::2], pixels[1::2], strict=True))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


_TOP, _MIDDLE = ({symbol: _lines_of(symbol)[part] for symbol in {**_FILLED, **_INSET}} for part in (0, 1))
_SYMBOLS = {lines: symbol for symbol in _TOP for lines in [(_TOP[symbol][0], _MIDDLE[symbol][_SIDE // 4])]}
_PALETTE = _chunk(b"PLTE", bytes(value for colour in COLOURS.values() for value in colour))
_END = _chunk(b"IEND", b"")


class VisualMazeEnv(MazeEnv):
    """A maze whose picture stands in place of the text of symbols; the observation is a list of content parts.

    The arguments are those of :class:`gem_envs_grid.maze.env.MazeEnv`.
    """

    legend = (
        "In the picture, the blue square is you, the green square the goal; black is wall, white is floor. A small "
        "square of another colour is a key, and the large square of the same colour the door that it opens. You pick "
        "up a key by walking over it."
    )

    def _board(self) -> str:
        return self._status()

    def _instructions(self) -> str:
        return super()._instructions().replace(f"'{BEYOND}' lies", "grey lies")

    def _colours(self, text: str) -> str:
        """Return a sentence with the colours of keys and doors in place of their letters."""
        for letter, colour in zip(KEYS, _KEY_COLOURS, strict=True):
            text = text.replace(f"key {letter}.", f"the {colour} key.").replace(
                f"door {letter.upper()}.", f"the {colour} door."
            )
        return text

    def _status(self) -> str:
        named = ", ".join(_KEY_COLOURS[KEYS.index(key)] for key in self.keys)
        status = super()._status()
        return status.replace(f"Keys: {', '.join(self.keys)}.", f"Keys: {named}.") if named else status

    def reset(  # type: ignore[override]  # content parts in place of a text
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        text, info = super().reset(seed, options)
        return self._parts(text), info

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, Info]:  # type: ignore[override]
        text, reward, terminated, truncated, info = super().step(action)
        return self._parts(self._colours(text)), reward, terminated, truncated, info

    def _parts(self, text: str) -> Observation:
        return [maze_picture(self._picture()), {"type": "text", "text": text}]


class VisualMazePolicy(Policy[Observation, str]):
    """Plays as :class:`gem_envs_grid.maze.env.MazePolicy` does, and reads the maze from the picture itself."""

    def reset(self, observation: Observation, info: Info) -> None:
        self._planner = MazePolicy()
        self._planner.reset("", info)

    def act(self, observation: Observation, info: Info) -> str:
        assert isinstance(observation, list)
        shown, told = observation
        text = told["text"]
        _, _, held = text.partition("Keys: ")
        names = held.partition(".")[0].split(", ") if held else []
        keys = frozenset(KEYS[_KEY_COLOURS.index(name)] for name in names)
        return self._planner.choose(read_maze_picture(shown["image_url"]["url"]), MazePolicy.WHERE.search(text), keys)


def maze_picture(symbols: str) -> dict[str, Any]:
    """Return the content part with the picture of a maze: a PNG with a palette (https://www.w3.org/TR/png-3/)."""
    lines = symbols.split("\n")
    pixels, blocks = zip(*map(_row, lines), strict=True)
    # A zlib stream (RFC 1950) of the blocks of all rows and an empty last one.
    stream = b"\x78\x01" + b"".join(blocks) + b"\x03\x00" + struct.pack(">I", zlib.adler32(b"".join(pixels)))
    size = struct.pack(">IIBBBBB", _SIDE * len(lines[0]), _SIDE * len(lines), 4, 3, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", size) + _PALETTE + _chunk(b"IDAT", stream) + _END
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{b64encode(png).decode()}"}}


@lru_cache(maxsize=4096)
def _row(line: str) -> tuple[bytes, bytes]:
    """Return the pixels of a row of symbols, and as compressed blocks that refer to nothing before them.

    A move changes two rows at most, so nearly all rows of a picture are those of the picture before it.
    """
    top = b"\0" + b"".join(map(_TOP.__getitem__, line))
    middle = b"\0" + b"".join(map(_MIDDLE.__getitem__, line))
    pixels = top * _EDGE + middle * (_SIDE - 2 * _EDGE) + top * _EDGE
    packer = zlib.compressobj(1, wbits=-zlib.MAX_WBITS)
    return pixels, packer.compress(pixels) + packer.flush(zlib.Z_FULL_FLUSH)


def read_maze_picture(url: str) -> list[str]:
    """Return the lines of symbols in a picture of :func:`maze_picture`, told from the pixels."""
    png = b64decode(url.partition(",")[2])
    (width,) = struct.unpack(">I", png[16:20])
    place = png.index(b"IDAT")
    (length,) = struct.unpack(">I", png[place - 4 : place])
    pixels = zlib.decompress(png[place + 4 : place + 4 + length])
    across, symbol = width // 2, _SIDE // 2  # bytes of a line, and of a symbol in it
    lines = [pixels[start + 1 : start + 1 + across] for start in range(0, len(pixels), across + 1)]
    return [
        "".join(
            _SYMBOLS[lines[row][column], lines[row + _SIDE // 2][column + _SIDE // 4]]
            for column in range(0, across, symbol)
        )
        for row in range(0, len(lines), _SIDE)
    ]
