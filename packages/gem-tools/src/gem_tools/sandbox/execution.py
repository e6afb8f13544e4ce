"""What came of running a program: :class:`Execution`."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Execution"]


@dataclass(frozen=True)
class Execution:
    """What came of running a program. Texts are whole Unicode, whatever bytes the program wrote."""

    stdout: str
    stderr: str
    """What it wrote to its error stream: for a program that failed, the traceback of its own lines."""
    exit_code: int | None
    """As a process ends: 0 is success, a negative number a signal. None if the sandbox ended it."""
    timed_out: bool = False
    """Whether its wall-clock or CPU time was up."""
    seconds: float = 0.0
    """Wall-clock seconds that it took."""
    cpu_seconds: float = 0.0
    """CPU seconds of it and of all that it started; of a call of a session, 0."""
    truncated: bool = False
    """Whether more was written than is kept; a note in the text shows where."""
    limit: str | None = None
    """The field of :class:`~gem_tools.sandbox.Limits` that it ran into, as far as can be told."""
    session_ended: bool = False
    """Whether the session of this call is over, and its variables gone; the next call begins a fresh one."""

    @property
    def ok(self) -> bool:
        """Whether the program came to its end with exit code 0."""
        return self.exit_code == 0

    def error(self, *, last_line_only: bool = False) -> str:
        """Return what was written to the error stream, without line breaks at its end.

        Args:
            last_line_only: only the last line, which names the exception.
        """
        text = self.stderr.rstrip("\n")
        return text.rpartition("\n")[2] if last_line_only else text
