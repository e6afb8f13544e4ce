"""The messages between the trainer and a fork server: one starts an execution, one reports its end.

A request carries descriptors: the report, the program, standard input, output and error, and for a session
the channel of its calls. The fork server writes the answer after it has waited for the execution, whose own reports
never count.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

__all__ = [
    "BY_ITSELF",
    "KILL",
    "OUT_OF_CPU",
    "OUT_OF_DISK",
    "OUT_OF_MEMORY",
    "OUT_OF_PROCESSES",
    "OUT_OF_TIME",
    "STOPPED",
    "ExecutionRequest",
    "pack_answer",
    "pack_call",
    "pack_request",
    "unpack_answer",
    "unpack_call",
    "unpack_request",
]

KILL = b"K"
"""Sent on the report channel to end the execution immediately. Closing the channel has the same effect."""

BY_ITSELF, OUT_OF_TIME, OUT_OF_CPU, STOPPED, OUT_OF_MEMORY, OUT_OF_DISK, OUT_OF_PROCESSES = range(7)
"""The reasons for the end of an execution."""

_REQUEST = struct.Struct("=QIQIdd")
_ANSWER = struct.Struct("=Bidd")
_CALL = struct.Struct("=i")


class ExecutionRequest(NamedTuple):
    """The limits of an execution; see :class:`gem_tools.sandbox.Limits`. Times may be infinite."""

    memory: int
    processes: int
    disk: int
    open_files: int
    seconds: float
    cpu_seconds: float


def pack_request(request: ExecutionRequest) -> bytes:
    """Encode the limits of an execution as a message."""
    return _REQUEST.pack(*request)


def unpack_request(message: bytes) -> ExecutionRequest:
    """Decode the limits of a request."""
    return ExecutionRequest._make(_REQUEST.unpack(message))


def pack_answer(reason: int, exit_code: int, seconds: float, cpu_seconds: float) -> bytes:
    """Encode the reason for the end, the exit code, the wall-clock time and the CPU time with child processes."""
    return _ANSWER.pack(reason, exit_code, seconds, cpu_seconds)


def unpack_answer(message: bytes) -> tuple[int, int, float, float]:
    """Decode the reason, the exit code and the times of an answer."""
    return _ANSWER.unpack(message)


def pack_call(exit_code: int) -> bytes:
    """Encode the end of a session's call."""
    return _CALL.pack(exit_code)


def unpack_call(message: bytes) -> int:
    """Decode the end of a call; raises ``ValueError`` for anything else."""
    if len(message) != _CALL.size:
        raise ValueError(f"a call is reported in {_CALL.size} bytes, got {len(message)}")
    number: int = _CALL.unpack(message)[0]
    return number
