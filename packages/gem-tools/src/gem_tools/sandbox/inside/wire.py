"""What passes between the trainer and a fork server: one message to start an execution, one on how it ended.

A request travels with descriptors: where to report, the program, standard input, output and error, and for a session
the channel of its calls. What an execution reports about itself never counts: the answer is the fork server's, which
has waited for it.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

__all__ = [
    "BY_ITSELF",
    "KILL",
    "OUT_OF_CPU",
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
"""Sent on the reporting channel: end the execution now. Closing the channel means the same."""

BY_ITSELF, OUT_OF_TIME, OUT_OF_CPU, STOPPED = range(4)
"""Why an execution ended."""

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
    """Return the limits of an execution as a message."""
    return _REQUEST.pack(*request)


def unpack_request(message: bytes) -> ExecutionRequest:
    """Return the limits of a request."""
    return ExecutionRequest._make(_REQUEST.unpack(message))


def pack_answer(reason: int, exit_code: int, seconds: float, cpu_seconds: float) -> bytes:
    """Why and how an execution ended, its wall-clock time, and the CPU time of it and all it started."""
    return _ANSWER.pack(reason, exit_code, seconds, cpu_seconds)


def unpack_answer(message: bytes) -> tuple[int, int, float, float]:
    """Return the reason, the exit code and the times of an answer."""
    return _ANSWER.unpack(message)


def pack_call(exit_code: int) -> bytes:
    """How a call of a session ended."""
    return _CALL.pack(exit_code)


def unpack_call(message: bytes) -> int:
    """Return how a call ended; raise ``ValueError`` for anything else."""
    if len(message) != _CALL.size:
        raise ValueError(f"a call is reported in {_CALL.size} bytes, got {len(message)}")
    number: int = _CALL.unpack(message)[0]
    return number
