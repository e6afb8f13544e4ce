"""The system calls that the namespace engine allows its processes: :func:`container_filter`."""

from __future__ import annotations

from gem_processes.container_calls import container_program
from gem_processes.syscall_numbers import MACHINE
from gem_terminal.errors import EngineError

__all__ = ["container_filter"]


def container_filter(machine: str = MACHINE) -> bytes:
    """Return the filter of :func:`~gem_processes.container_calls.container_program`.

    Args:
        machine: the name that ``platform.machine()`` returns.

    Raises:
        EngineError: if the system calls of the machine are not known.
    """
    try:
        return container_program(machine)
    except OSError as error:
        raise EngineError(
            f"the namespace engine does not know this machine: {error.strerror}; use engine='docker'"
        ) from error
