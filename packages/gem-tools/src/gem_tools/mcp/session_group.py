"""Tools that share their sessions with servers, and the user and the model who answer in these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem_tools.mcp.config import ServerConfig
from gem_tools.mcp.sampled_model import Completions, ModelBudget, SampledModel
from gem_tools.mcp.simulated_user import Answers, ElicitedUser

__all__ = ["SessionGroup"]


class SessionGroup:
    """Tools with their own sessions, one with each server. A deep copy is another group.

    Args:
        answers: answers the questions of these servers; None for sessions without a user.
        completions: completes messages for these servers; None for sessions without a model.
        budget: what the servers may spend on it.
    """

    def __init__(
        self,
        answers: Answers | None = None,
        completions: Completions | None = None,
        budget: ModelBudget | None = None,
    ) -> None:
        self.used: set[ServerConfig] = set()
        """The servers called in this episode."""
        self.user = None if answers is None else ElicitedUser(answers)
        self.model = None if completions is None else SampledModel(completions, budget or ModelBudget())

    def begin(self, values: Mapping[str, Any]) -> None:
        """Begin an episode with these values.

        Raises:
            ToolError: if the environment must offer the user or the model, and does not.
        """
        for source in (self.user, self.model):
            if source is not None:
                source.begin(values)

    def __deepcopy__(self, memo: dict[int, Any]) -> SessionGroup:
        return SessionGroup(*self.__reduce__()[1])

    def __reduce__(self) -> tuple[Any, ...]:
        user = None if self.user is None else self.user.source
        model, budget = (None, None) if self.model is None else (self.model.source, self.model.budget)
        return SessionGroup, (user, model, budget)
