"""What the server counts, for tests and for ``/stats``."""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import Any

from gem_eval.fake_model.byte_tokens import ASSISTANT
from gem_eval.fake_model.model_request import ModelAnswer, ModelRequest

__all__ = ["Continuations", "ServerCounts"]

_REMEMBERED = 100_000


@dataclass
class ServerCounts:
    """Counts since the server was started."""

    connections: int = 0
    """Connections that were opened."""
    served: int = 0
    """Requests to the model that were let in, faults included."""
    requests: Counter[str] = field(default_factory=Counter)
    """By path."""
    statuses: Counter[int] = field(default_factory=Counter)
    """By the status that was sent; a reply cut off counts as well."""
    faults: Counter[str] = field(default_factory=Counter)
    """Faults played, by kind."""
    in_flight: int = 0
    most_in_flight: int = 0
    queued: int = 0
    """Requests that had to wait for others."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """Of the prompts, what was in the prefix cache."""
    completion_tokens: int = 0
    seconds: float = 0.0
    """Sum of the latencies of all answers."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {
            name: dict(sorted(value.items(), key=str)) if isinstance(value, Counter) else value
            for name, value in vars(self).items()
        }


class Continuations:
    """Checks that the prompts of later turns hold exactly the tokens that were sampled in the turns before.

    A prompt of a later turn ends with: an earlier prompt, the ids sampled for it, the ids of the new messages. The last
    100,000 prompts are remembered.
    """

    def __init__(self) -> None:
        self.first = 0
        """Prompts of first turns."""
        self.exact = 0
        """Prompts that continue an earlier prompt and what was sampled for it."""
        self.broken = 0
        """Prompts given as ids that do not."""
        self.retokenized = 0
        """Prompts that the server made of messages, and whose ids differ from those sampled."""
        self._sampled: OrderedDict[int, list[tuple[int, ...]]] = OrderedDict()

    def check(self, request: ModelRequest) -> None:
        """Count a prompt."""
        ids = request.prompt_ids
        # The last ASSISTANT opens the answer that is wanted; the one before it opened the last answer.
        turn = next((i for i in range(len(ids) - 2, -1, -1) if ids[i] == ASSISTANT), None)
        if turn is None:
            self.first += 1
            return
        rest = ids[turn + 1 :]
        known = self._sampled.get(hash(tuple(ids[: turn + 1])), ())
        if any(tuple(rest[: len(sampled)]) == sampled for sampled in known):
            self.exact += 1
        elif request.ids_given:
            self.broken += 1
        else:
            self.retokenized += 1

    def remember(self, request: ModelRequest, answers: list[ModelAnswer]) -> None:
        """Keep what was sampled for a prompt."""
        known = self._sampled.setdefault(hash(tuple(request.prompt_ids)), [])
        known += [tuple(answer.token_ids) for answer in answers if tuple(answer.token_ids) not in known]
        if len(self._sampled) > _REMEMBERED:
            self._sampled.popitem(last=False)

    def to_dict(self) -> dict[str, int]:
        """Return a JSON-serialisable dict."""
        return {name: getattr(self, name) for name in ("first", "exact", "broken", "retokenized")}
