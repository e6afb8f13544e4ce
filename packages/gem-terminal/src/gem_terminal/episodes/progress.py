"""A progress display for slow preparations before an episode: :func:`showing`.

The display appears only if standard error is a terminal, and after two seconds. All threads share one display. If
another display already uses the terminal, such as that of ``gem rollout``, and in worker processes and forked
children, a single line replaces the bar.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock, Timer
from typing import TYPE_CHECKING

from gem.fork_hooks import after_fork_in_child
from gem_terminal.engines.base import Progress, ProgressStage

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

__all__ = ["showing"]

_PATIENCE = 2.0
"""Seconds before the display appears."""

_BYTES = 1 << 16
"""A total above this number counts bytes, not steps."""


@contextmanager
def showing(title: str) -> Iterator[Progress]:
    """Yield a function that receives the stages of an engine; the last stage is shown until the block ends.

    Args:
        title: the name of the preparation, for example ``"image of ledger"``.
    """
    if not _is_terminal():
        yield _ignored
        return
    line = _Line(title)
    try:
        yield line.tell
    finally:
        line.end()


def _ignored(stage: ProgressStage) -> None:
    pass


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # no standard error, or a closed one
        return False


class _Line:
    def __init__(self, title: str) -> None:
        self.title = title
        self.stage: ProgressStage | None = None
        self._timer: Timer | None = None
        self._due = False
        self._began = 0.0
        self._written = False

    def tell(self, stage: ProgressStage) -> None:
        """Set the current stage."""
        with _screen.lock:
            self.stage = stage
            if self._timer is None:
                self._began = time.monotonic()
                self._timer = Timer(_PATIENCE, self._become_due)
                self._timer.daemon = True
                self._timer.start()
            if self._due:
                self._show()

    def end(self) -> None:
        """Remove the line from the display."""
        with _screen.lock:
            if self._timer is not None:
                self._timer.cancel()
            self._due = False
            self.stage = None
            _screen.remove(self)
            if self._written:
                _write(f"{self.title}: ended after {time.monotonic() - self._began:.0f} s")

    def _become_due(self) -> None:
        with _screen.lock:
            if self.stage is not None:
                self._due = True
                self._show()

    def _show(self) -> None:
        assert self.stage is not None
        if _screen.draw(self) or self._written or self.stage.total is None:
            return
        self._written = True
        _write(f"{self.title}: {_plain(self.stage.text)} ({_amount(self.stage)})")


class _Screen:
    """The display that all threads of the process share."""

    def __init__(self, *, is_of_a_child: bool = False) -> None:
        self.lock = RLock()
        self.is_of_a_child = is_of_a_child
        """Whether this process was forked; it only writes lines then."""
        self._lines: dict[_Line, TaskID] = {}
        self._bars: Bars | None = None

    def draw(self, line: _Line) -> bool:
        """Show a line. Returns False if another display uses the terminal."""
        import multiprocessing

        if self.is_of_a_child:
            return False
        if self._bars is None:
            if hasattr(sys.stderr, "rich_proxied_file") or multiprocessing.parent_process() is not None:
                return False
            self._bars = _bars()
            self._bars.start()
        if line not in self._lines:
            self._lines[line] = self._bars.add_task(line.title, total=None, visible=False, text="", amount="")
        self._update()
        return True

    def remove(self, line: _Line) -> None:
        """Remove a line, and release the terminal after the last one."""
        task = self._lines.pop(line, None)
        if task is None or self._bars is None:
            return
        self._bars.remove_task(task)
        if self._lines:
            self._update()
        else:
            self._bars.stop()
            self._bars = None

    def _update(self) -> None:
        """Show the threads that make progress, or one of those that wait."""
        assert self._bars is not None
        going_on = [line for line in self._lines if line.stage is not None and line.stage.total is not None]
        shown = going_on or [next(iter(self._lines))]
        for line, task in self._lines.items():
            stage = line.stage or ProgressStage("")
            self._bars.update(
                task,
                total=stage.total,
                completed=stage.done or 0,
                text=_plain(stage.text),
                amount=_amount(stage),
                visible=line in shown,
            )


def _bars() -> Bars:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    return Progress(
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[amount]}", markup=False, table_column=Column(no_wrap=True)),
        TimeElapsedColumn(),
        TextColumn(
            "{task.fields[text]}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)
        ),
        console=Console(stderr=True),
        expand=True,  # so that only the text is shortened
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )


def _amount(stage: ProgressStage) -> str:
    if stage.total is None:
        return ""
    if stage.total <= _BYTES:
        return f"{stage.done or 0} of {stage.total}"
    return f"{(stage.done or 0) / 1e6:.1f} of {stage.total / 1e6:.1f} MB"


def _plain(text: str) -> str:
    """Return the output of a build without control characters."""
    return "".join(character if character.isprintable() else " " for character in text).strip()


def _write(text: str) -> None:
    if _screen.is_of_a_child:
        # A thread of the parent may have been writing: then the lock of its buffer is held for ever in this process.
        os.write(sys.stderr.fileno(), f"{text}\n".encode(sys.stderr.encoding, "backslashreplace"))
    else:
        print(text, file=sys.stderr, flush=True)  # noqa: T201  # a terminal was found there


_screen = _Screen()


@after_fork_in_child
def _reset_after_fork() -> None:
    """Leave the display to the parent, with its lock, which a thread of the parent may hold."""
    global _screen
    _screen = _Screen(is_of_a_child=True)
