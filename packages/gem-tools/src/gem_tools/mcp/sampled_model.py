"""The model whose completions servers may ask for (sampling), within a budget: :class:`SampledModel`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from gem.arguments import integer
from gem.errors import ArgumentTypeError
from gem.policies import Act, Policy
from gem.text import action_text, spoken_text
from gem.tools import FromEpisode
from gem_tools.mcp.declared_source import DeclaredSource, awaited, is_acting

__all__ = ["BudgetSpentError", "Completions", "ModelBudget", "SampledModel", "SamplingRequest", "check_model"]


class BudgetSpentError(ValueError):
    """A server asks for more completions than it may."""


@dataclass(frozen=True)
class ModelBudget:
    """What all servers together may spend in an episode; without an episode, in the life of the tools.

    Raises:
        ArgumentError, ArgumentTypeError: if a value is no integer of at least 1.
    """

    completions: int = 20
    characters: int = 400_000
    """Of prompts and answers together; of a picture or sound, its base64 text."""
    max_tokens: int = 1024
    """The most tokens of one answer. A function or a policy sees it; what a policy samples is its own matter."""

    def __post_init__(self) -> None:
        for name in ("completions", "characters", "max_tokens"):
            integer(name, getattr(self, name), minimum=1)


@dataclass(frozen=True)
class SamplingRequest:
    """A completion that a server asks for."""

    server: str
    messages: Sequence[Mapping[str, Any]]
    """As chat APIs take them, the system prompt first if there is one."""
    max_tokens: int
    temperature: float | None = None
    stop: Sequence[str] = ()
    size: int = 0
    """Characters of the messages."""


Completions = Callable[[SamplingRequest], Any] | Policy[Any, Any] | FromEpisode
"""What answers servers that ask for a completion.

* A function, sync or async, of a :class:`SamplingRequest`: returns the text, or None to refuse.
* A policy with ``act``: its observation is the list of messages, its ``info`` has ``server``, ``max_tokens``,
  ``temperature`` and ``stop``; its reasoning is not part of the answer. It completes one request at a time.
* ``FromEpisode(name)``: one of these that the environment offers in its ``episode_values`` (``model`` by default).
"""


def check_model(source: object) -> None:
    """Check what completes messages.

    Raises:
        ArgumentTypeError: if it is of another kind.
    """
    if not (isinstance(source, FromEpisode) or callable(source) or is_acting(source)):
        raise ArgumentTypeError(
            "model must be a function of a request for a completion, a policy with act, or FromEpisode, got "
            f"{type(source).__name__}"
        )


class SampledModel(DeclaredSource):
    """Completes the messages of servers in one environment, within a budget.

    Args:
        source: what completes them; see :data:`Completions`.
        budget: what servers may spend.
    """

    role = "model"

    def __init__(self, source: Completions, budget: ModelBudget) -> None:
        super().__init__(source, check_model)
        self.budget = budget
        self._completions, self._characters = 0, 0
        self._counting, self._acting = Lock(), Lock()

    def begin(self, values: Mapping[str, Any]) -> None:
        with self._counting:
            self._completions, self._characters = 0, 0
        super().begin(values)

    def complete(self, request: SamplingRequest) -> str | None:
        """Return the answer, at most up to the first of the texts that stop it; None if the source refuses.

        May take as long as the source does.

        Raises:
            BudgetSpentError: if the budget does not suffice.
            ArgumentTypeError: if a function returns something else.
            Exception: what the source raises.
        """
        source = self._current
        if source is None:
            return None
        self._reserve(request.size)
        answer = self._from_policy(source, request) if isinstance(source, Policy) else awaited(source(request))
        if answer is None:
            return None
        if not isinstance(answer, str):
            raise ArgumentTypeError(f"a model answers with a str or None, got {type(answer).__name__}")
        cuts = [at for text in request.stop if text and (at := answer.find(text)) >= 0]
        answer = answer[: min(cuts, default=len(answer))]
        with self._counting:
            self._characters += len(answer)
        return answer

    def _reserve(self, size: int) -> None:
        with self._counting:
            if self._completions >= self.budget.completions:
                raise BudgetSpentError(f"the budget of {self.budget.completions} completions is spent")
            if self._characters + size > self.budget.characters:
                raise BudgetSpentError(
                    f"the budget of {self.budget.characters:,} characters for prompts and answers does not suffice: "
                    f"{self._characters:,} are spent, and this prompt has {size:,}"
                )
            self._completions += 1
            self._characters += size

    def _from_policy(self, policy: Policy[Any, Any], request: SamplingRequest) -> str | None:
        observation = [dict(message) for message in request.messages]
        info = {
            "server": request.server,
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "stop": list(request.stop),
        }
        with self._acting:
            awaited(policy.reset(observation, info))
            action = awaited(policy.act(observation, info))
        text = action_text(action.action if isinstance(action, Act) else action)
        return None if text is None else spoken_text(text)
