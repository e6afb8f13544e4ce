"""The result of a program: :class:`Execution`."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Execution"]


@dataclass(frozen=True)
class Execution:
    """The result of a program. Texts are valid Unicode for any output."""

    stdout: str
    stderr: str
    """The error output; of a failed program, the traceback with its own lines only."""
    exit_code: int | None
    """The exit code; negative for a signal. None if the sandbox ended the program."""
    timed_out: bool = False
    """Whether the program reached its wall-clock or CPU time limit."""
    seconds: float = 0.0
    """Wall-clock seconds of the program."""
    cpu_seconds: float = 0.0
    """CPU seconds of the program and its child processes; 0 for a call of a session."""
    truncated: bool = False
    """Whether output was cut; a note in the text marks the gap."""
    limit: str | None = None
    """The field of :class:`~gem_tools.sandbox.Limits` that the program reached, if known; ``"infrastructure"`` for a
    call whose session was killed from outside, which says nothing about the program."""
    session_ended: bool = False
    """Whether the session of this call has ended and lost its variables; the next call begins a new one."""

    @property
    def ok(self) -> bool:
        """Whether the program ended with exit code 0."""
        return self.exit_code == 0

    def error(self, *, last_line_only: bool = False) -> str:
        """Return the error output without line breaks at its end.

        Args:
            last_line_only: only the last line, which names the exception.
        """
        text = self.stderr.rstrip("\n")
        return text.rpartition("\n")[2] if last_line_only else text
