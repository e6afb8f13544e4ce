"""The screen of an xterm-like terminal for the output of programs: :class:`Terminal`.

pyte provides the grid, its margins and the editing operations. This module parses the control sequences by ECMA-48
and Paul Williams's VT500 parser, because pyte shows unknown sequences as text or raises an error. It also adds
features of full-screen programs that pyte lacks: the alternate screen, scrolling by lines, repetition and replies
to queries. Colours and attributes are ignored, because only the text is used.

No output of a program raises an error, and each byte takes bounded time and memory.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import deque
from collections.abc import Callable
from typing import Any

import pyte
from pyte import modes
from wcwidth import wcwidth

__all__ = ["Terminal"]

_TOKEN = re.compile(
    r"(?P<text>[^\x00-\x1f\x7f-\x9f]+)"
    r"|\x1b\[(?P<parameters>[0-?]*)(?P<intermediate>[ -/]*)(?P<csi>[@-~])"
    r"|\x1b(?P<string>[]P^_X])"
    r"|\x1b(?P<prefix>[ -/]*)(?P<escape>[0-Z\\`-~])"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f-\x9f])"
)
_BEGUN = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[ -/]*)\Z")
"""The beginning of a sequence whose end has not arrived."""

_LONGEST_SEQUENCE = 256
_STRING_END = re.compile(r"\x07|\x1b\\|\x18|\x1a")
_MOST = 9999
"""The largest value of a parameter; larger ones are clipped."""

_MOST_SCROLLED = 2000
"""Lines that are remembered after they have scrolled off the screen."""
_MOST_MARKS = 8
"""The largest number of combining characters in one cell."""

_MODES = {4: modes.IRM, 20: modes.LNM}
_PRIVATE_MODES = {6: modes.DECOM, 7: modes.DECAWM, 25: modes.DECTCEM}


class Terminal(pyte.Screen):
    """A terminal screen that interprets the output of programs.

    Args:
        columns, rows: the size of the screen.
        reply: receives the terminal's answers to queries of programs.
    """

    def __init__(self, columns: int, rows: int, reply: Callable[[bytes], None]) -> None:
        self._reply = reply
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._in_string = False
        self._other: tuple[Any, Any] | None = None
        self._last = ""
        self.scrolled: deque[Any] = deque(maxlen=_MOST_SCROLLED)
        """The lines that have scrolled off the top of the main screen, as pyte has them; see :meth:`scrolled_text`."""
        self.application_keys = False
        """Whether the program expects arrow keys as ``ESC O`` instead of ``ESC [`` (DECCKM)."""
        super().__init__(columns, rows)

    def feed(self, data: bytes) -> None:
        """Process output of a program."""
        text = self._rest + self._decoder.decode(data)
        self._rest = ""
        position = 0
        while position < len(text):
            if self._in_string:
                position = self._skipped(text, position)
                continue
            token = _TOKEN.match(text, position)
            if token is not None:
                self._do(token)
                position = token.end()
            elif _BEGUN.match(text, position) and len(text) - position < _LONGEST_SEQUENCE:
                self._rest = text[position:]
                return
            else:  # an unknown sequence: terminals drop the escape
                position += 1

    def text(self) -> str:
        """Return the text of the screen without trailing blanks."""
        return "\n".join(self._row(y).rstrip() for y in range(self.lines)).rstrip("\n")

    def scrolled_text(self) -> list[str]:
        """Return the text of the lines in :attr:`scrolled`."""
        return [self._text_of(line).rstrip() for line in self.scrolled]

    def index(self) -> None:
        """Move the cursor down; at the bottom margin the lines scroll up."""
        top, bottom = self.margins or (0, self.lines - 1)
        if self.cursor.y == bottom and top == 0 and self._other is None:
            self.scrolled.append(self.buffer[0])
        super().index()

    def _row(self, y: int) -> str:
        return self._text_of(self.buffer[y])

    def _text_of(self, line: Any) -> str:
        shown: list[str] = []
        x = 0
        while x < self.columns:
            char = line[x].data
            if not char:  # the second half of an overwritten wide character
                char = " "
            elif wcwidth(char[0]) == 2:
                x += 1
                if x == self.columns or line[x].data:
                    char, x = " ", x - 1
            shown.append(char)
            x += 1
        return "".join(shown)

    def _skipped(self, text: str, position: int) -> int:
        """Return the end of a control string for the terminal, for example a title, a link or a capability."""
        end = _STRING_END.search(text, position)
        if end is not None:
            self._in_string = False
            return end.end()
        self._rest = text[-1] if text[-1] == "\x1b" and len(text) - 1 >= position else ""
        return len(text)

    def _do(self, token: re.Match[str]) -> None:
        if token["text"]:
            self.draw(token["text"])
        elif token["csi"]:
            if not token["intermediate"]:
                self._sequence(token["csi"], token["parameters"])
        elif token["string"]:
            self._in_string = True
        elif token["escape"]:
            self._escape(token["prefix"], token["escape"])
        else:
            self._control(token["control"])

    def _control(self, control: str) -> None:
        self._last = ""
        handle = _CONTROLS.get(control)
        if handle is not None:
            getattr(self, handle)()

    def _escape(self, prefix: str, final: str) -> None:
        if prefix in ("(", ")"):
            self.define_charset(final, prefix)
        elif prefix == "#" and final == "8":
            self.alignment_display()
        elif not prefix:
            if final == "E":
                self.carriage_return()
            handle = _ESCAPES.get(final)
            if handle is not None:
                getattr(self, handle)()

    def _sequence(self, final: str, parameters: str) -> None:
        private = parameters[:1] if parameters[:1] in ("<", "=", ">", "?") else ""
        numbers = [_number(part) for part in parameters[len(private) :].split(";")[:16]]
        first = numbers[0]
        if final in "hl" and private in ("", "?"):
            for number in numbers:
                self._set(number, private == "?", final == "h")
        elif private:
            return
        elif final == "c":
            self._reply(b"\x1b[?1;2c")
        elif final == "n":
            self._report(first)
        elif final == "b":
            self.draw(self._last * min(first or 1, self.columns - self.cursor.x))
        elif final == "S":
            self._scroll(up=first or 1)
        elif final == "T":
            self._scroll(up=-(first or 1))
        elif final == "Z":
            self._tab_back(first or 1)
        elif final == "r":
            self.set_margins(first or None, (numbers[1] or None) if len(numbers) > 1 else None)
            self.cursor_position()
        elif final in ("H", "f"):
            self.cursor_position(first, numbers[1] if len(numbers) > 1 else None)
        elif final == "J":
            if first <= 2:
                self.erase_in_display(first)
        elif final == "K":
            if first <= 2:
                self.erase_in_line(first)
        elif final == "g":
            self.clear_tab_stop(first)
        elif final == "s":
            self.save_cursor()
        elif final == "u":
            self.restore_cursor()
        elif final in _SEQUENCES:
            getattr(self, _SEQUENCES[final])(first or None)

    def _set(self, mode: int, private: bool, on: bool) -> None:
        if private and mode in (47, 1047, 1049):
            self._show_other(on, with_cursor=mode == 1049)
        elif private and mode == 1048:
            (self.save_cursor if on else self.restore_cursor)()
        elif private and mode == 1:
            self.application_keys = on
        elif mode in (_PRIVATE_MODES if private else _MODES):
            (self.set_mode if on else self.reset_mode)(mode, private=private)

    def _show_other(self, alternate: bool, with_cursor: bool) -> None:
        """Switch to the alternate screen, which starts blank, or back to the main screen."""
        if alternate and self._other is None:
            self._other = dict(self.buffer), (self.cursor.x, self.cursor.y)
            self.buffer.clear()
        elif not alternate and self._other is not None:
            (lines, (x, y)), self._other = self._other, None
            self.buffer.clear()
            self.buffer.update(lines)
            if with_cursor:
                self.cursor.x, self.cursor.y = x, y

    def _scroll(self, up: int) -> None:
        top, bottom = self.margins or (0, self.lines - 1)
        y, self.cursor.y = self.cursor.y, top
        if up > 0:
            self.delete_lines(up)
        else:
            self.insert_lines(min(-up, bottom - top + 1))
        self.cursor.y = y

    def _tab_back(self, count: int) -> None:
        for _ in range(min(count, self.columns)):
            self.cursor.x = max((stop for stop in self.tabstops if stop < self.cursor.x), default=0)

    def _report(self, what: int) -> None:
        if what == 5:
            self._reply(b"\x1b[0n")
        elif what == 6:
            self._reply(b"\x1b[%d;%dR" % (self.cursor.y + 1, min(self.cursor.x, self.columns - 1) + 1))

    def draw(self, data: str) -> None:
        """Write text at the cursor."""
        self._last = data[-1:] if wcwidth(data[-1:]) == 1 else ""
        if data.isascii():
            super().draw(data)
            return
        for char in data:
            width = wcwidth(char)
            if width <= 0:
                self._combine(char)
                continue
            if width == 2 and self.cursor.x == self.columns - 1 and modes.DECAWM in self.mode:
                self.carriage_return()
                self.linefeed()
            super().draw(char)

    def cursor_up(self, count: int | None = None) -> None:
        """Move the cursor up. A cursor below the upper margin stops there."""
        top, _ = self.margins or (0, self.lines - 1)
        self.cursor.y = max(self.cursor.y - (count or 1), top if self.cursor.y >= top else 0)

    def cursor_down(self, count: int | None = None) -> None:
        """Move the cursor down. A cursor above the lower margin stops there."""
        _, bottom = self.margins or (0, self.lines - 1)
        self.cursor.y = min(self.cursor.y + (count or 1), bottom if self.cursor.y <= bottom else self.lines - 1)

    def insert_lines(self, count: int | None = None) -> None:
        """Insert blank lines at the cursor, which keeps its column, as in tmux."""
        x = self.cursor.x
        super().insert_lines(count)
        self.cursor.x = x

    def delete_lines(self, count: int | None = None) -> None:
        """Delete lines at the cursor, which keeps its column, as in tmux."""
        x = self.cursor.x
        for y in range(self.lines):
            self.buffer[y]  # pyte does not move lines that were never written
        super().delete_lines(count)
        self.cursor.x = x

    def save_cursor(self) -> None:
        """Save the cursor position in place of an earlier one."""
        self.savepoints.clear()
        super().save_cursor()

    def reset(self) -> None:
        """Reset the terminal to a blank screen."""
        self._other, self.application_keys, self._last = None, False, ""
        super().reset()

    def _combine(self, mark: str) -> None:
        if not unicodedata.combining(mark) or not self.cursor.x:
            return
        line, x = self.buffer[self.cursor.y], self.cursor.x - 1
        if not line[x].data and x:  # the second half of a wide character
            x -= 1
        if len(line[x].data) <= _MOST_MARKS:
            line[x] = line[x]._replace(data=unicodedata.normalize("NFC", line[x].data + mark))


_CONTROLS = {
    "\b": "backspace", "\t": "tab", "\n": "linefeed", "\v": "linefeed", "\f": "linefeed", "\r": "carriage_return",
    "\x0e": "shift_out", "\x0f": "shift_in",
}  # fmt: skip
_ESCAPES = {
    "7": "save_cursor", "8": "restore_cursor", "D": "index", "E": "index", "H": "set_tab_stop", "M": "reverse_index",
    "c": "reset",
}  # fmt: skip
_SEQUENCES = {
    "@": "insert_characters", "A": "cursor_up", "B": "cursor_down", "C": "cursor_forward", "D": "cursor_back",
    "E": "cursor_down1", "F": "cursor_up1", "G": "cursor_to_column", "L": "insert_lines", "M": "delete_lines",
    "P": "delete_characters", "X": "erase_characters", "`": "cursor_to_column", "a": "cursor_forward",
    "d": "cursor_to_line", "e": "cursor_down",
}  # fmt: skip
"""Final byte → the method that takes the first parameter."""


def _number(parameter: str) -> int:
    """Return the value of a parameter up to a colon; 0 for an empty one."""
    digits = parameter.partition(":")[0][:8]
    return min(int(digits), _MOST) if digits.isdigit() else 0
