"""Recordings of episodes while they happen: :class:`EpisodeRecording`."""

from __future__ import annotations

import json
import re
import secrets
import time
from pathlib import Path

from gem.errors import ArgumentError
from gem_terminal.actions import Bash, CallMcpTool, CarriedAction, OtherAction, ReadFile, SendKeys, WriteFile
from gem_terminal.asciicast import Asciicast
from gem_terminal.warnings_once import warn_once

__all__ = ["EpisodeRecording", "recordings_folder", "shown_command"]

_MOST_BYTES = 64 << 20
"""Of one recording in a file."""
_MOST_INLINE = 4 << 20
"""Of one that is kept for the record of the episode."""
_NOT_IN_A_NAME = re.compile(r"[^\w.-]+", re.ASCII)


def recordings_folder(folder: str | Path) -> Path:
    """Return the folder for recordings, made if it is missing.

    Raises:
        ArgumentError: if it cannot be made.
    """
    try:
        made = Path(folder).absolute()
        made.mkdir(parents=True, exist_ok=True)
    except (OSError, TypeError, ValueError) as error:
        raise ArgumentError(f"recordings must be a folder that can be made, got {folder!r}: {error}") from error
    return made


class EpisodeRecording:
    """Records an episode in a form that asciinema plays, an action at a time: in a file, or for its info.

    An episode never fails for its recording: where the file cannot be written, the recording ends with a warning.

    Args:
        folder: an existing folder; the file in it gets the name of the task, the time, and a random part. None to
            keep the recording in memory.
        task: the name of the task.
    """

    def __init__(self, folder: Path | None, task: str) -> None:
        now = time.time()
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now))
        name = _NOT_IN_A_NAME.sub("-", task)[:80]
        self.path = None if folder is None else folder / f"{name}-{stamp}-{secrets.token_hex(4)}.cast"
        self._kept: list[str] = []
        self._cast = Asciicast(task, now)
        self._began = time.monotonic()
        self._bytes = 0
        self._ended = False

    def begin(self, action: CarriedAction) -> None:
        """Record that the agent acts. What ``send_keys`` types is recorded by :meth:`keys`."""
        self._cast.marker(self._now(), _label(action))
        if not isinstance(action, SendKeys):
            self._cast.command(self._now(), shown_command(action))

    def heard(self, data: bytes) -> None:
        """Record output of the shell, or of the terminal."""
        self._cast.output(self._now(), data)

    def keys(self, data: bytes, screen: str) -> None:
        """Record keys; see :meth:`Asciicast.keys <gem_terminal.asciicast.Asciicast.keys>`."""
        self._cast.keys(self._now(), data, screen)

    def end(self, note: str = "") -> None:
        """Record a note about the action's end, if there is one, and write what was recorded into the file."""
        if note:
            self._cast.note(self._now(), note)
        lines, self._cast.lines = self._cast.lines, []
        if self._ended:
            return
        data = "".join(f"{line}\n" for line in lines)
        self._bytes += len(data)
        if self._bytes > (_MOST_INLINE if self.path is None else _MOST_BYTES):
            self._ended = True
            return
        if self.path is None:
            self._kept.append(data)
            return
        try:
            # Opened each time: a process may have many episodes, and a fork must not write into the same descriptor.
            with self.path.open("a", encoding="utf-8") as file:
                file.write(data)
        except OSError as error:
            self._ended = True
            warn_once(f"recordings cannot be written to {self.path.parent}: {error.strerror or error}")

    def info(self, *, ended: bool) -> dict[str, str]:
        """Return what the info of an episode says of its recording: the file, or at the end the recording itself."""
        if self.path is not None:
            return {"recording": str(self.path)}
        return {"asciicast": "".join(self._kept)} if ended else {}

    def _now(self) -> float:
        return time.monotonic() - self._began


def _label(action: CarriedAction) -> str:
    if isinstance(action, SendKeys):
        return "keys " + " ".join(action.keys)
    return shown_command(action)


def shown_command(action: Bash | ReadFile | WriteFile | CallMcpTool | OtherAction) -> str:
    """Return an action as a recording shows it at the prompt."""
    if isinstance(action, OtherAction):
        return action.shown
    if isinstance(action, Bash):
        return action.command
    if isinstance(action, ReadFile):
        return f"# read_file {action.path}"
    if isinstance(action, CallMcpTool):
        return f"# mcp_call {action.tool} {json.dumps(action.arguments)}"
    return f"# write_file {action.path}\n{action.content}"
