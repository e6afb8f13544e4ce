"""What one execution may use: :class:`Limits`."""

from __future__ import annotations

from dataclasses import dataclass

from gem.arguments import integer, real

__all__ = ["Limits"]

_LONGEST = 86_400.0
_MOST_BYTES = 1 << 50


@dataclass(frozen=True)
class Limits:
    """What one execution may use; sizes in bytes, times in seconds.

    Raises:
        ArgumentError: if a value is out of range.
        ArgumentTypeError: if it is no number.
    """

    seconds: float = 5.0
    """Wall-clock time, counted from the moment at which the program's process exists."""
    cpu_seconds: float | None = None
    """CPU time of the program's process; of a session, of all its calls together. None: as much as fits in."""
    memory: int = 1 << 30
    """Address space of each process, beyond what the interpreter itself takes."""
    processes: int = 32
    """Processes and threads at a time, the program's own included."""
    disk: int = 64 << 20
    """What may be written to the scratch folder in all, and to any one file."""
    output: int = 64 << 10
    """What is kept of each stream. A program that writes 256 times as much is stopped."""
    open_files: int = 256

    def __post_init__(self) -> None:
        object.__setattr__(self, "seconds", real("seconds", self.seconds, minimum=0.0, maximum=_LONGEST))
        if self.cpu_seconds is not None:
            cpu_seconds = real("cpu_seconds", self.cpu_seconds, minimum=0.0, maximum=_LONGEST)
            object.__setattr__(self, "cpu_seconds", cpu_seconds)
        integer("memory", self.memory, minimum=1 << 20, maximum=_MOST_BYTES)
        integer("processes", self.processes, minimum=1, maximum=1 << 20)
        integer("disk", self.disk, minimum=1 << 16, maximum=_MOST_BYTES)
        integer("output", self.output, minimum=0, maximum=1 << 30)
        integer("open_files", self.open_files, minimum=16, maximum=1 << 20)
