"""The queue of a model server, as its Prometheus metrics show it: :func:`queue_length`, :class:`QueueWatch`."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from gem_eval.clients.errors import ModelError
from gem_eval.clients.pacing import RequestPacer

__all__ = ["QueueLength", "QueueWatch", "queue_length"]

_GAUGES = (
    ("vllm:num_requests_running", "vllm:num_requests_waiting"),
    ("sglang:num_running_reqs", "sglang:num_queue_reqs"),
    ("llamacpp:requests_processing", "llamacpp:requests_deferred"),
)
"""Names of the gauges, in the documentation of vLLM (Production Metrics), of SGLang (the same; it needs
``--enable-metrics``) and of llama.cpp's server (``--metrics``)."""

_LINE = re.compile(
    rf"^({'|'.join(re.escape(name) for pair in _GAUGES for name in pair)})(?:{{.*}})?[ \t]+(\S+)", re.MULTILINE
)
_LOOK = 1.0
"""Seconds between two looks."""
_PATIENCE = 10.0
"""Seconds in which a server must show its metrics."""
_MOST_BYTES = 4 * 2**20
"""Of a page of metrics; servers write some 100 kB."""


class QueueLength(NamedTuple):
    """What a server has to do."""

    running: float
    """Requests that it works at."""
    waiting: float
    """Requests in its queue."""


def queue_length(page: bytes) -> QueueLength | None:
    """Return the queue's length by a page in Prometheus' text format; None if none of the known servers wrote it.

    The series of a gauge (models, ranks of data parallelism) are added up.
    """
    sums: dict[str, float] = {}
    for name, text in _LINE.findall(page[:_MOST_BYTES].decode(errors="replace")):
        try:
            value = float(text)
        except ValueError:
            return None
        if not (math.isfinite(value) and value >= 0):
            return None
        sums[name] = sums.get(name, 0.0) + value
    for running, waiting in _GAUGES:
        if running in sums and waiting in sums:
            return QueueLength(sums[running], sums[waiting])
    return None


class QueueWatch:
    """Tells a pacer the length of the server's queue, again and again while requests are in flight.

    Args:
        page: returns the page of metrics; None if the server has none.
        pacer: is told.
        missing: called once if the server does not show its queue; the watch is over then.
    """

    def __init__(
        self,
        page: Callable[[], Awaitable[bytes | None]],
        pacer: RequestPacer,
        missing: Callable[[], None],
    ) -> None:
        self._page, self._pacer, self._missing = page, pacer, missing
        self._task: asyncio.Task[None] | None = None
        self._over = False

    def begin(self) -> None:
        """Look from now on, unless it does already."""
        if not self._over and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._look())

    def end(self) -> None:
        """Look no more."""
        if self._task is not None and not self._task.done() and not self._task.get_loop().is_closed():
            self._task.cancel()
        self._task = None

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_LOOK)
            if not self._pacer.in_flight:
                return  # the next request begins it again
            try:
                page = await asyncio.wait_for(self._page(), _PATIENCE)
            except (ModelError, asyncio.TimeoutError):
                continue  # a busy server; its refusals count on their own
            length = None if page is None else queue_length(page)
            if length is None:
                self._over = True
                self._missing()
                return
            self._pacer.queued(length.running, length.waiting)
