"""The limits of an execution: :class:`Limits`."""

from __future__ import annotations

from dataclasses import dataclass

from gem.arguments import integer, real

__all__ = ["Limits"]

_LONGEST = 86_400.0
_MOST_BYTES = 1 << 50


@dataclass(frozen=True)
class Limits:
    """The limits of an execution; sizes in bytes, times in seconds.

    Raises:
        ArgumentError: if a value is out of range.
        ArgumentTypeError: if a value is not a number.
    """

    seconds: float = 5.0
    """Wall-clock time from the start of the program's process."""
    cpu_seconds: float | None = None
    """CPU time of the program's process, or of all calls of a session together. None: no limit."""
    memory: int = 1 << 30
    """Address space of each process, in addition to the interpreter's own; in a jail, also the memory of all processes
    together, measured every 0.1 s, with every socket counted as 256 KiB and every pipe as 64 KiB. A jail also ends an
    execution with more than 128 pipes, or 10,000 mappings in a process, as one without memory. Where this user may make
    control groups (:attr:`gem_tools.sandbox.Sandbox.memory_limited_by`), the kernel also limits the memory of all
    processes and the scratch folder together, to 32 MiB more than ``memory`` and ``disk``."""
    processes: int = 32
    """Simultaneous processes and threads, including the program's own."""
    disk: int = 64 << 20
    """The size of the scratch folder, and of each file. Where it is measured (in the restricted tier), folders nested
    more than 64 levels deep are over every limit."""
    output: int = 64 << 10
    """The kept size of each stream. A program that writes 256 times as much is stopped."""
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
