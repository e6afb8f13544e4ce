"""A terminal with a screen, for interactive programs: :class:`Screen`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress

from gem_terminal.engines.base import Container
from gem_terminal.errors import EngineError
from gem_terminal.terminal import Terminal

__all__ = ["Screen", "bytes_of"]

_COLUMNS, _ROWS = 120, 40
_SETTLED = 0.15
"""Seconds without output after which a screen counts as complete."""

_NAMED = {
    "Enter": "\r", "Tab": "\t", "BTab": "\x1b[Z", "Space": " ", "BSpace": "\x7f", "Escape": "\x1b",
    "Up": "\x1b[A", "Down": "\x1b[B", "Right": "\x1b[C", "Left": "\x1b[D", "Home": "\x1b[H", "End": "\x1b[F",
    "IC": "\x1b[2~", "Insert": "\x1b[2~", "DC": "\x1b[3~", "Delete": "\x1b[3~",
    "PPage": "\x1b[5~", "PageUp": "\x1b[5~", "PgUp": "\x1b[5~", "NPage": "\x1b[6~", "PageDown": "\x1b[6~",
    "PgDn": "\x1b[6~", "F1": "\x1bOP", "F2": "\x1bOQ", "F3": "\x1bOR", "F4": "\x1bOS", "F5": "\x1b[15~",
    "F6": "\x1b[17~", "F7": "\x1b[18~", "F8": "\x1b[19~", "F9": "\x1b[20~", "F10": "\x1b[21~", "F11": "\x1b[23~",
    "F12": "\x1b[24~",
}  # fmt: skip
"""tmux name of a key → the bytes that an xterm sends for it."""


_CURSOR_KEYS = frozenset(("Up", "Down", "Right", "Left", "Home", "End"))
"""Keys that an xterm sends as ``ESC O`` instead of ``ESC [`` in application mode."""


def bytes_of(keys: Iterable[str], application: bool = False) -> bytes:
    """Return the bytes that a terminal sends for keys: ``Enter``, ``C-c``, ``M-x``, ``Up``; other text is unchanged.

    Args:
        keys: tmux names of keys, or text.
        application: whether the program has switched on application cursor keys (DECCKM).
    """
    return "".join(_sent(key, application) for key in keys).encode(errors="replace")


class Screen:
    """Types keys into a shell on a terminal and shows the screen, 120 columns by 40 rows.

    Args:
        container: the container.
        user: the user of the shell.
        workdir: its first folder.
        environment: its variables.
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
        with suppress(EngineError):  # a shell that could not start has ended; the screen shows its message
            self._channel.resize(_COLUMNS, _ROWS)
        self._terminal = Terminal(_COLUMNS, _ROWS, self._reply)
        self.begun = False
        """Whether the shell was alive when the first key was typed."""
        self.ended = False

    def press(self, keys: Iterable[str], seconds: float) -> str:
        """Type keys, wait for their effect, and return the text of the screen.

        The method waits until the program has drawn and then pauses, at most ``seconds``. Without keys it only waits.
        """
        deadline = time.monotonic() + seconds
        if not self.begun:  # keys typed before the prompt would appear twice
            self._settle(deadline)
            self.begun = not self.ended
        self._channel.write(bytes_of(keys, self._terminal.application_keys), max(deadline - time.monotonic(), 0.0))
        self._settle(deadline)
        return self._terminal.text()

    def _settle(self, deadline: float) -> None:
        drawn = False
        while not self.ended and (left := deadline - time.monotonic()) > 0:
            data = self._channel.read(min(left, _SETTLED) if drawn else left)
            if data is None:
                self.ended = True
            elif data:
                self._terminal.feed(data)
                drawn = True
            elif drawn:
                break

    def close(self) -> None:
        """End the terminal. A second call does nothing."""
        self._channel.close()

    def _reply(self, answer: bytes) -> None:
        self._channel.write(answer, 0.0)  # without waiting for a program that does not read the answer


def _sent(key: str, application: bool) -> str:
    if key in _NAMED:
        return _NAMED[key].replace("[", "O") if application and key in _CURSOR_KEYS else _NAMED[key]
    modifier, _, rest = key.partition("-")
    if modifier == "C" and len(rest) == 1 and rest.isascii():
        return "\x7f" if rest == "?" else chr(ord(rest.upper()) & 0x1F)
    if modifier == "M" and rest:
        return "\x1b" + _sent(rest, application)
    return key
