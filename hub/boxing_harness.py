"""A harness for small models, as the official results show one: it answers in the form that the environment asks for.

    cd hub && gem eval game:GuessTheNumber-v0-easy --agent boxing_harness:BoxingPolicy --base-url … --wrappers messages

Small models often know a move and do not put it into the box. This harness puts the last number of an answer that has
no box into one, and says nothing else in the model's place.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from gem.core import Info
from gem.policies import Act
from gem_eval.clients import ModelClient, ModelPolicy, Sampling

__all__ = ["BoxingPolicy"]

_NUMBER = re.compile(r"-?\d+")


class BoxingPolicy(ModelPolicy):
    """Asks the model, and puts the last number of an answer without a box into one."""

    def __init__(self, client: ModelClient, sampling: Sampling | None = None) -> None:
        super().__init__(client, sampling)

    async def act(self, observation: Any, info: Info) -> Act:
        act = await super().act(observation, info)
        if not isinstance(act.action, str) or "\\boxed{" in act.action:
            return act
        numbers = _NUMBER.findall(act.action)
        return replace(act, action=f"\\boxed{{{numbers[-1]}}}") if numbers else act
