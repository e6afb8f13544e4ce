"""A terminal with a screen, for interactive programs: :class:`Screen`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

import pyte

from gem_terminal.engines.base import Container
from gem_terminal.errors import EngineError

__all__ = ["Screen", "bytes_of"]

_COLUMNS, _ROWS = 120, 40
_SETTLED = 0.15
"""Seconds without output after which a screen counts as drawn."""

_NAMED = {
    "Enter": "\r", "Tab": "\t", "BTab": "\x1b[Z", "Space": " ", "BSpace": "\x7f", "Escape": "\x1b",
    "Up": "\x1b[A", "Down": "\x1b[B", "Right": "\x1b[C", "Left": "\x1b[D", "Home": "\x1b[1~", "End": "\x1b[4~",
    "IC": "\x1b[2~", "Insert": "\x1b[2~", "DC": "\x1b[3~", "Delete": "\x1b[3~",
    "PPage": "\x1b[5~", "PageUp": "\x1b[5~", "PgUp": "\x1b[5~", "NPage": "\x1b[6~", "PageDown": "\x1b[6~",
    "PgDn": "\x1b[6~", "F1": "\x1bOP", "F2": "\x1bOQ", "F3": "\x1bOR", "F4": "\x1bOS", "F5": "\x1b[15~",
    "F6": "\x1b[17~", "F7": "\x1b[18~", "F8": "\x1b[19~", "F9": "\x1b[20~", "F10": "\x1b[21~", "F11": "\x1b[23~",
    "F12": "\x1b[24~",
}  # fmt: skip
"""Keys by their names in tmux, and what a terminal of the kind xterm sends for them."""


def bytes_of(keys: Iterable[str]) -> bytes:
    """Return what a terminal sends for keys: ``Enter``, ``C-c``, ``M-x``, ``Up``, and any other text as it is."""
    return "".join(map(_sent, keys)).encode(errors="replace")


class Screen:
    """Types keys into a shell on a terminal and shows the screen, 120 columns by 40 rows.

    Args:
        container: where.
        user, workdir, environment: whose shell it is, where it begins, and what it is told.
    """

    def __init__(
        self,
        container: Container,
        *,
        user: str | None = None,
        workdir: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        told = {"TERM": "xterm", "COLUMNS": str(_COLUMNS), "LINES": str(_ROWS), **(environment or {})}
        self._channel = container.open(("bash",), terminal=True, user=user, workdir=workdir, environment=told)
        self._channel.resize(_COLUMNS, _ROWS)
        self._screen = pyte.Screen(_COLUMNS, _ROWS)
        self._stream = pyte.ByteStream(self._screen)
        self.ended = False

    def press(self, keys: Iterable[str], seconds: float) -> str:
        """Type keys, wait for what they bring, and return the text of the screen.

        Waits until something was drawn and nothing more comes, at most so many seconds. Without keys it only waits.
        """
        try:
            self._channel.write(bytes_of(keys))
        except EngineError:
            self.ended = True
        deadline = time.monotonic() + seconds
        drawn = False
        while not self.ended and (left := deadline - time.monotonic()) > 0:
            data = self._channel.read(min(left, _SETTLED) if drawn else left)
            if data is None:
                self.ended = True
            elif data:
                self._stream.feed(data)
                drawn = True
            elif drawn:
                break
        return self.text()

    def text(self) -> str:
        """Return what stands on the screen, without blank ends."""
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip("\n")

    def close(self) -> None:
        """End the terminal; calling it again does nothing."""
        self._channel.close()


def _sent(key: str) -> str:
    if key in _NAMED:
        return _NAMED[key]
    modifier, _, rest = key.partition("-")
    if modifier == "C" and len(rest) == 1 and rest.isascii():
        return "\x7f" if rest == "?" else chr(ord(rest.upper()) & 0x1F)
    if modifier == "M" and rest:
        return "\x1b" + _sent(rest)
    return key
