"""A terminal with a screen, for interactive programs: :class:`Screen`."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from gem_terminal.engines.base import Container
from gem_terminal.errors import EngineError
from gem_terminal.shells.terminal import Terminal

__all__ = ["Screen", "bytes_of"]

_COLUMNS, _ROWS = 120, 40
_SETTLED = 0.15
"""Seconds without output after which a screen counts as complete, if the shell or a program waits for keys."""
_LONGEST_PAUSE = 1.0
"""Seconds between two looks at a program that neither writes nor reads."""
_ENTERING = (b"\r", b"\n", b"\x03", b"\x04", b"\x1a")
"""Keys after which a shell shows a new prompt."""
_LONGEST_MARK = 80
_BUSY = 9
_ANSWERS_IN = 60.0
"""Seconds; a container in which nothing runs for so long is broken."""

# $1: the shell on the terminal. A program reads keys if the terminal is in raw mode, as line editors and full-screen
# programs set it, or if a process in the foreground sleeps in a read of a terminal. Where the user must not open the
# terminal, as on Kubernetes, the shell counts as waiting whenever it is in the foreground itself.
_ASKS_FOR_READERS = r"""
shell=$1
read -r line < "/proc/$shell/stat" || exit 1
set -- ${line##*) }
front=$6
modes=$(stty -a < "/proc/$shell/fd/0") 2>&- || [ "$front" != "$3" ] || exit 0
case " $(echo "$modes" | tr ';\n' '  ') " in *" -icanon "*) exit 0 ;; esac
for stat in /proc/[0-9]*/stat; do
  read -r line < "$stat" || continue
  process=${line%% *}
  set -- ${line##*) }
  [ "$3" = "$front" ] || continue
  read -r where < "/proc/$process/wchan" || :
  case $where in n_tty_read | wait_woken) exit 0 ;; esac
done
exit 9
"""

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
        heard: called with each piece of its output.
    """

    def __init__(
        self,
        container: Container,
        *,
        user: str | None = None,
        workdir: str | None = None,
        environment: Mapping[str, str] | None = None,
        heard: Callable[[bytes], Any] | None = None,
    ) -> None:
        mark = secrets.token_hex(16)
        # The escape sequence by which terminals recognise a prompt (OSC 133), here with the number of the shell.
        told = {
            "TERM": "xterm",
            "COLUMNS": str(_COLUMNS),
            "LINES": str(_ROWS),
            "PROMPT_COMMAND": rf'printf "\033]133;A;{mark};$$\007"',
            **(environment or {}),
        }
        self._prompt = re.compile(rb"\x1b\]133;A;%s;(\d{1,10})\x07" % mark.encode())
        self._prompts_due = 1
        self._shell = ""
        """The process of the last shell that showed a prompt."""
        self._tail = b""
        self._container = container
        self._user = user
        self._heard = heard
        self._channel = container.open(("bash",), terminal=True, user=user, workdir=workdir, environment=told)
        with suppress(EngineError):  # a shell that could not start has ended; the screen shows its message
            self._channel.resize(_COLUMNS, _ROWS)
        self._terminal = Terminal(_COLUMNS, _ROWS, self._reply)
        self._seen: list[str] = []
        """The rows of the screen that were returned last."""
        self.begun = False
        """Whether the shell was alive when the first key was typed."""
        self.ended = False

    def press(self, keys: Iterable[str], seconds: float, wait: float = 0.0) -> str:
        """Type keys, wait for their effect, and return what has changed on the screen.

        The method waits until the shell shows its prompt again, or a program waits for the next keys. Lines that
        scrolled off meanwhile are returned too. Without keys it only waits, and returns the whole screen.

        Args:
            keys: text and tmux names of keys.
            seconds: the time limit.
            wait: seconds to wait at least.
        """
        deadline, earliest = time.monotonic() + seconds, time.monotonic() + wait
        if not self.begun:  # keys typed before the prompt would appear twice
            self._settle(deadline, 0.0)
            self.begun = not self.ended
        self._terminal.scrolled.clear()
        data = bytes_of(keys, self._terminal.application_keys)
        self._prompts_due += sum(data.count(key) for key in _ENTERING)
        self._channel.write(data, max(deadline - time.monotonic(), 0.0))
        self._settle(deadline, earliest)
        scrolled, rows = self._terminal.scrolled_text(), self._terminal.text().split("\n")
        before, self._seen = self._seen, rows
        return _changes(before, scrolled, rows, whole=not data)

    def shown(self) -> str:
        """Return what draws the screen as it is now, without colours, and puts the cursor where it is."""
        cursor = self._terminal.cursor
        return f"{self._terminal.text()}\x1b[{cursor.y + 1};{cursor.x + 1}H"

    def _settle(self, deadline: float, earliest: float) -> None:
        drawn, pause, asked = False, _SETTLED, False
        while not self.ended and (left := deadline - time.monotonic()) > 0:
            data = self._channel.read(min(left, pause))
            if data is None:
                self.ended = True
            elif data:
                self._received(data)
                drawn, pause, asked = True, _SETTLED, False
            elif time.monotonic() < earliest:
                continue
            elif self._prompts_due <= 0 or asked or (drawn and not self._shell):
                self._prompts_due = 0
                break
            elif self._shell and self._waits_for_keys():
                asked = True  # what was written before the answer must still be read
            else:
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _received(self, data: bytes) -> None:
        if self._heard is not None:
            self._heard(data)
        self._terminal.feed(data)
        self._tail = (self._tail + data)[-_LONGEST_MARK - len(data) :]
        found = None
        for found in self._prompt.finditer(self._tail):
            self._prompts_due -= 1
            self._shell = found[1].decode()
        self._tail = self._tail[found.end() :] if found is not None else self._tail[-_LONGEST_MARK:]

    def _waits_for_keys(self) -> bool:
        """Whether the program in the foreground reads from the terminal; asks the kernel, in the container."""
        done = self._container.run(
            ("sh", "-c", _ASKS_FOR_READERS, "sh", self._shell), seconds=_ANSWERS_IN, user=self._user, workdir="/"
        )
        return done.exit_code != _BUSY  # another code: the shell is gone, or no program can run

    def close(self) -> None:
        """End the terminal. A second call does nothing."""
        self._channel.close()

    def _reply(self, answer: bytes) -> None:
        self._channel.write(answer, 0.0)  # without waiting for a program that does not read the answer


def _changes(before: list[str], scrolled: list[str], rows: list[str], *, whole: bool) -> str:
    """Return the lines that scrolled off and the rows of a screen, without those that are as they were before.

    Args:
        before: the rows that were shown last.
        scrolled: the lines that have scrolled off since, the first rows of ``before`` among them.
        rows: the rows now.
        whole: whether to return all rows.
    """
    lines = [*scrolled, *rows]
    same = 0
    while same < min(len(before), len(lines)) and lines[same] == before[same]:
        same += 1
    if whole:
        return "\n".join([*scrolled[same:], *rows])
    end = len(lines)
    if not scrolled and len(rows) == len(before):
        while end > same and rows[end - 1] == before[end - 1]:
            end -= 1
    if same == end:
        return "[the screen is as before]"
    above, below = min(same, len(before)), len(lines) - end
    notes = [f"[{above} {'row' if above == 1 else 'rows'} above as before]"] if above else []
    last = [f"[{below} {'row' if below == 1 else 'rows'} below as before]"] if below else []
    return "\n".join([*notes, *lines[same:end], *last])


def _sent(key: str, application: bool) -> str:
    if key in _NAMED:
        return _NAMED[key].replace("[", "O") if application and key in _CURSOR_KEYS else _NAMED[key]
    modifier, _, rest = key.partition("-")
    if modifier == "C" and len(rest) == 1 and rest.isascii():
        return "\x7f" if rest == "?" else chr(ord(rest.upper()) & 0x1F)
    if modifier == "M" and rest:
        return "\x1b" + _sent(rest, application)
    return key
