"""How long answers take: deterministic functions of a request, so that an ideal schedule can be computed."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from gem.errors import ArgumentError

__all__ = ["Latency"]


@dataclass(frozen=True)
class Latency:
    """The time between a request and its answer, in seconds.

    A share of the requests are stragglers, which take ``straggler_seconds``. The others take a log-normal time with the
    median ``seconds`` and the spread ``sigma`` (the standard deviation of its natural logarithm; 0: always the
    median). Each sampled token adds ``token_seconds``.
    """

    seconds: float = 0.0
    sigma: float = 0.0
    straggler_share: float = 0.0
    straggler_seconds: float = 0.0
    token_seconds: float = 0.0

    def __post_init__(self) -> None:
        for name in ("seconds", "sigma", "straggler_seconds", "token_seconds"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ArgumentError(f"{name} must be a finite number from 0, got {value!r}")
        if not 0 <= self.straggler_share <= 1:
            raise ArgumentError(f"straggler_share must lie between 0 and 1, got {self.straggler_share!r}")

    @property
    def none(self) -> bool:
        """Whether every answer is immediate."""
        return not (self.seconds or self.token_seconds or (self.straggler_share and self.straggler_seconds))

    def of(self, identity: str, tokens: int = 0) -> float:
        """Return the latency of a request in seconds.

        Args:
            identity: the id of the reply, as its header ``x-request-id`` gives it.
            tokens: the number of sampled tokens.
        """
        rng = random.Random(identity)
        if self.straggler_share and rng.random() < self.straggler_share:
            return self.straggler_seconds
        first = self.seconds * math.exp(rng.gauss(0.0, self.sigma)) if self.sigma else self.seconds
        return first + tokens * self.token_seconds
