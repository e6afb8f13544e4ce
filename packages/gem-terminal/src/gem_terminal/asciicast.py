"""Recordings of terminals in the format asciicast, version 2: :class:`Asciicast`.

The format is that of https://docs.asciinema.org/manual/asciicast/v2/: a line with a header, then a line for each event,
``[seconds, code, data]``, with the codes ``o`` (output), ``i`` (typed keys) and ``m`` (marker).
"""

from __future__ import annotations

import codecs
import json
from typing import Any

__all__ = ["COLUMNS", "ROWS", "Asciicast"]

COLUMNS, ROWS = 120, 40
"""The size of the terminal of ``send_keys``."""

_LONGEST_PAUSE = 2.0
"""Seconds; players shorten longer pauses, in which the model thinks."""
_MOST_OUTPUT = 1 << 18
"""Bytes of one command that are recorded."""
_RESET = "\x1bc"
_PROMPT = "\x1b[1;32m$\x1b[0m "
_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"


class Asciicast:
    """Turns what happens in an episode into the lines of a recording.

    The shell of an episode has no terminal, so its commands are shown after a prompt, with their output below. The
    terminal of ``send_keys`` takes the screen over while the agent uses it.

    Args:
        title: the title of the recording.
        began: Unix time of its beginning, in seconds.
    """

    def __init__(self, title: str, began: float | None = None) -> None:
        header: dict[str, Any] = {"version": 2, "width": COLUMNS, "height": ROWS}
        if began is not None:
            header["timestamp"] = int(began)
        header |= {"idle_time_limit": _LONGEST_PAUSE, "title": title, "env": {"SHELL": "/bin/bash", "TERM": "xterm"}}
        self.lines = [json.dumps(header)]
        """Each without its newline."""
        self._on_screen = False
        self._recorded = 0
        self._at_line_start = True
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def marker(self, at: float, label: str) -> None:
        """Mark a moment, at which players can stop and to which they can jump."""
        self._event(at, "m", label[:200])

    def command(self, at: float, command: str) -> None:
        """Show a command after a prompt."""
        self._leave_screen(at)
        self._recorded = 0
        self._event(at, "o", _PROMPT + _lines(command.rstrip("\n").replace("\n", "\n> ")) + "\r\n")

    def output(self, at: float, data: bytes) -> None:
        """Show output of the command, or of the terminal."""
        room = _MOST_OUTPUT - self._recorded
        self._recorded += len(data)
        if room > 0 and (text := self._decoder.decode(data[:room])):
            self._event(at, "o", text if self._on_screen else _lines(text))
        if room > 0 >= _MOST_OUTPUT - self._recorded:
            self._event(at, "o", f"\r\n{_DIM}[more output is not recorded]{_PLAIN}")

    def note(self, at: float, text: str) -> None:
        """Show a remark, such as an exit code, on a line of its own."""
        self._leave_screen(at)
        rest = self._decoder.decode(b"", True)
        self._decoder.reset()
        begin = rest + ("" if self._at_line_start and not rest else "\r\n")
        self._event(at, "o", f"{begin}{_DIM}{_lines(text)}{_PLAIN}\r\n")

    def keys(self, at: float, data: bytes, shown: str) -> None:
        """Record keys that are typed into the terminal.

        Args:
            at: seconds since the beginning.
            data: the bytes that the terminal sends for them.
            shown: what is on the screen now, in case that the shell was shown before.
        """
        if not self._on_screen:
            self._decoder.reset()
            self.screen(at, shown)
            self._on_screen = True
        self._recorded = 0
        if data:
            self._event(at, "i", data.decode(errors="replace"))

    def screen(self, at: float, shown: str) -> None:
        """Show a whole screen in place of what is there."""
        self._event(at, "o", _RESET + _lines(shown))

    def text(self) -> str:
        """Return the whole recording."""
        return "\n".join(self.lines) + "\n"

    def _leave_screen(self, at: float) -> None:
        if self._on_screen:
            self._on_screen = False
            self._decoder.reset()
            self._event(at, "o", _RESET)

    def _event(self, at: float, code: str, data: str) -> None:
        if code == "o":
            self._at_line_start = data.endswith("\n")
        self.lines.append(json.dumps([round(at, 6), code, data]))


def _lines(text: str) -> str:
    """Return a text as a terminal needs it, which goes back to the first column only where it is told."""
    return text.replace("\r\n", "\n").replace("\n", "\r\n")
