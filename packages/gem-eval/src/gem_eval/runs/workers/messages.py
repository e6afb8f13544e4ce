"""Messages between an evaluation and its workers: a header, which is a JSON object, and a body of bytes.

===========================  ======================================================================================
to a worker
``settings``                 once, at the beginning; see :class:`~gem_eval.runs.workers.share.WorkerShare`
``play``                     keys of episodes to play; ``continue`` has those that go on after their last turn
``kept``                     keys of episodes that are written
``tune``                     ``concurrency`` and ``retries`` from now on; a concurrency of 0 begins no more episodes
of a worker
``ready``                    once: it takes episodes
``refused``                  instead: why it cannot
``state``                    about once a second: the episodes that play, what requests wait for, and their limit
``episodes``                 finished ones, whose lines are the body
===========================  ======================================================================================

A worker ends when its channel is closed for writing; what is finished until then still comes.
"""

from __future__ import annotations

import asyncio
import struct
from typing import Any

from gem_eval.runs.lines import parse_line
from gem_rollout.trajectory.encoding import encoded

__all__ = ["message", "receive"]

_SIZES = struct.Struct("!IQ")


def message(header: dict[str, Any], body: bytes = b"") -> bytes:
    """Return a message as bytes."""
    encoded_header = encoded(header)
    return _SIZES.pack(len(encoded_header), len(body)) + encoded_header + body


async def receive(reader: asyncio.StreamReader) -> tuple[dict[str, Any], bytes] | None:
    """Return the next message; None where the other side has ended, also in the middle of one."""
    try:
        header_size, body_size = _SIZES.unpack(await reader.readexactly(_SIZES.size))
        header = await reader.readexactly(header_size)
        body = await reader.readexactly(body_size)
    except (asyncio.IncompleteReadError, OSError):
        return None
    return parse_line(header), body
