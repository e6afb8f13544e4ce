"""One command of ``gem`` in a process group of its own, with limits on its time and its output."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gem_tools.sandbox.output import OutputBuffer

if TYPE_CHECKING:
    from anyio.abc import Process

__all__ = ["GRACE_SECONDS", "KEPT_BYTES", "EndedCommand", "run_gem"]

KEPT_BYTES = 32_000
"""Bytes of a command's output that are kept, half of them from its end."""

GRACE_SECONDS = 5.0
"""The time that an interrupted command has to record what it did."""

_CHUNK = 1 << 16


class EndedCommand(NamedTuple):
    """What came of a command."""

    exit_code: int | None
    """None if it was ended at its time limit."""
    output: str
    """Its standard output and error output as they came, with a note where the middle is left out."""
    truncated: bool
    """Whether the middle is left out."""


async def run_gem(arguments: Sequence[str], folder: Path, seconds: float) -> EndedCommand:
    """Run ``gem`` with some arguments.

    At the limit, and when the caller is cancelled, the command is interrupted as by Ctrl-C, so that a run keeps the
    episodes that have ended; then its whole process group is killed.

    Args:
        arguments: those of ``gem``; no shell reads them.
        folder: where it runs.
        seconds: its time limit.
    """
    import anyio

    process = await anyio.open_process(
        [sys.executable, "-m", "gem", *arguments],
        stdin=subprocess.DEVNULL,  # this process's own input is the client's
        stderr=subprocess.STDOUT,
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "120"},
        start_new_session=True,
    )
    output = OutputBuffer(KEPT_BYTES)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_drain, process, output)
            try:
                with anyio.move_on_after(seconds) as limit:
                    await _ended(process)
            finally:
                with anyio.CancelScope(shield=True):
                    await _end(process)
            # What has left the process group may hold the pipe open.
            group.cancel_scope.deadline = anyio.current_time() + GRACE_SECONDS
    finally:
        with anyio.CancelScope(shield=True):
            await process.aclose()
    code = None if limit.cancelled_caught else process.returncode
    return EndedCommand(code, output.text(), output.truncated)


async def _drain(process: Process, output: OutputBuffer) -> None:
    import anyio

    assert process.stdout is not None
    with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
        while True:
            output.write(await process.stdout.receive(_CHUNK))


async def _ended(process: Process) -> None:
    """Wait for the end of the process itself; ``wait`` may also wait for pipes that others hold open."""
    import anyio

    while process.returncode is None:
        await anyio.sleep(0.01)


async def _end(process: Process) -> None:
    """End the process group: the process by an interrupt, what is left of it by a kill."""
    import anyio

    if process.returncode is None:
        _signal(process, signal.SIGINT)
        with anyio.move_on_after(GRACE_SECONDS):
            await _ended(process)
    _signal(process, signal.SIGKILL)
    await _ended(process)


def _signal(process: Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
