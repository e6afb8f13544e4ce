"""How many requests a model server gets at once: :class:`RequestLimit`.

A refusal for the rate (429, or 503 from a full queue) lowers the number at once, and each answer raises it again by a
fraction of one: additive increase, multiplicative decrease, as in TCP's congestion control (RFC 5681). An adaptive
limit begins low and doubles, as TCP's slow start does, and where the server shows the length of its queue, it follows
that instead: what waits beyond a short queue is taken back before anything is refused, as in TCP Vegas (Brakmo,
O'Malley and Peterson, SIGCOMM 1994).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from gem.arguments import boolean, integer

__all__ = ["RequestLimit", "joined_limits"]

_FIRST = 16
"""What an adaptive limit begins with."""
_DECREASE = 0.7
_FLOOR = 1.0
_QUEUE = 0.1
"""Requests of this client that may wait on the server for each one that it works at: enough to keep it busy between two
looks. What other clients keep waiting is theirs to take back."""
_GROWTH = 0.05
"""The share by which the limit grows from look to look, once it has been too high."""


class RequestLimit:
    """The number of requests that may be in flight.

    Args:
        most: it never exceeds.
        adaptive: whether to begin low and to find out what the server can take; otherwise it begins with ``most``.
    """

    def __init__(self, most: int, adaptive: bool = False) -> None:
        self.most = integer("concurrency", most, minimum=1)
        self.adaptive = boolean("adaptive", adaptive)
        self.value = float(min(most, _FIRST) if adaptive else most)
        """The number at present."""
        self.lowered: Counter[str] = Counter()
        """How often it was lowered, by the reason: ``refusal`` or ``queue``."""
        self._doubles = adaptive
        self._sees_queue = False
        self._settles = False
        self._lowered_at = 0.0

    def answered(self, in_flight: int) -> None:
        """Note that a request had an answer.

        Args:
            in_flight: requests, the answered one included.
        """
        if self.value >= self.most or self._sees_queue:
            return
        if self.adaptive and in_flight < int(self.value):
            return  # nothing was held back, so nothing is known of a larger number (RFC 7661)
        self.value = min(float(self.most), self.value + (1.0 if self._doubles else 1 / self.value))

    def refused(self, in_flight: int, now: float, seconds: float) -> None:
        """Note that the server refused a request for the rate.

        Args:
            in_flight: requests, the refused one included.
            now: seconds of a clock.
            seconds: the pause that the server asks for. The requests that were in flight together are refused
                together; they count as one refusal.
        """
        if now < self._lowered_at:
            return
        self._lower("refusal", min(self.value, float(in_flight)) * _DECREASE)
        self._lowered_at = now + max(seconds, 0.5)

    def queued(self, in_flight: int, running: float, waiting: float) -> None:
        """Note what the server works at; an adaptive limit alone learns from it.

        Args:
            in_flight: requests of this client.
            running: requests that the server works at, of all clients.
            waiting: requests in its queue, of all clients.
        """
        if not self.adaptive:
            return
        self._sees_queue = True
        if self._settles:  # the server's figure may be older than the last change
            self._settles = False
            return
        short = max(1.0, _QUEUE * running)
        ours = waiting and waiting * min(1.0, in_flight / (running + waiting))
        if ours > short:
            limit = in_flight - (ours - short)
            if limit < self.value:
                self._lower("queue", limit)
                self._settles = True
        elif ours <= short / 2 and in_flight >= int(self.value):
            grown = self.value * 2 if self._doubles else self.value + max(1.0, _GROWTH * self.value)
            self.value = min(float(self.most), grown)

    def to_dict(self) -> dict[str, Any]:
        """Return the limit, what it never exceeds, and how often which reason lowered it."""
        return {"limit": int(self.value), "most": self.most, "lowered": dict(sorted(self.lowered.items()))}

    def _lower(self, reason: str, value: float) -> None:
        self.value = max(_FLOOR, value)
        self.lowered[reason] += 1
        self._doubles = False


def joined_limits(limits: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the limits of several clients of one server, as :meth:`RequestLimit.to_dict` gives each, as one.

    Empty if there are none.
    """
    found = [limit for limit in limits if limit]
    if not found:
        return {}
    lowered: Counter[str] = Counter()
    for limit in found:
        lowered.update(limit["lowered"])
    return {
        **{name: sum(limit[name] for limit in found) for name in ("limit", "most")},
        "lowered": dict(sorted(lowered.items())),
    }
