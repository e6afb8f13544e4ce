"""The health check of a container before the agent begins: :func:`await_health`."""

from __future__ import annotations

import time

from gem_terminal.bounded_output import BoundedOutput
from gem_terminal.engines.base import Container
from gem_terminal.errors import EngineError
from gem_terminal.task import Healthcheck

__all__ = ["await_health"]


def await_health(container: Container, check: Healthcheck, workdir: str | None = None) -> None:
    """Run a health check until it succeeds, with its own pauses and number of retries, as Harbor does.

    Raises:
        EngineError: if the check failed too often, or the container died; the message ends with the last output.
    """
    counted_from = time.monotonic() + check.start_period
    failures = 0
    while True:
        counts = time.monotonic() >= counted_from
        said, code = _attempt(container, check, workdir)
        if code == 0:
            return
        failures += counts
        if failures >= check.retries:
            why = f"exit code {code}" if code is not None else f"no end after {check.seconds:g} seconds"
            raise EngineError(
                f"the container is not healthy after {failures} attempts of {check.command!r}: {why}, {said[-200:]!r}"
            )
        time.sleep(check.interval if counts else check.start_interval)


def _attempt(container: Container, check: Healthcheck, workdir: str | None) -> tuple[str, int | None]:
    """Return output and exit code of an attempt. A slow attempt is not killed, because it may wait for a service."""
    channel = container.open(("/bin/sh", "-c", check.command), workdir=workdir)
    kept, deadline = BoundedOutput(), time.monotonic() + check.seconds
    try:
        while (left := deadline - time.monotonic()) > 0:
            data = channel.read(left)
            if data is None:
                return kept.text(), channel.exit_code(max(deadline - time.monotonic(), 0.0))
            kept.add(data)
        return kept.text(), None
    finally:
        channel.close()
