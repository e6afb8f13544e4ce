"""Healthy environments with several agents: in turns, and in parallel."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from gem.core import Info
from gem.multiagent import MultiAgentEnv
from gem.multiagent.env import AgentsStepResult
from gem.policies import Policy
from gem.text import action_text


class CountUp(MultiAgentEnv):
    """In turns: say the number after the other's; eight right ones and both have won."""

    max_turns: ClassVar[int] = 12

    def __init__(self) -> None:
        super().__init__(["ann", "bob"], mode="sequential")
        self._turn = self._right = self._number = 0

    def observe(self, agent: str) -> str:
        return self._tell(agent == self.agent_selection)

    def _begin(self) -> None:
        self._turn = self._right = 0
        self._number = self.rng.randint(0, 99)

    def _process_actions(self, actions: dict[str, Any]) -> AgentsStepResult:
        ((speaker, action),) = actions.items()
        is_right = action_text(action) == str(self._number + 1)
        self._turn += 1
        self._right += is_right
        self._number = self.rng.randint(0, 99)
        has_won, is_out = self._right == 8, self._turn == self.max_turns
        over = dict.fromkeys(self.agents, has_won or is_out)
        truncated = dict.fromkeys(self.agents, is_out and not has_won)
        # Whose turn it is changes only after this method.
        told = {agent: self._tell(agent != speaker) for agent in self.agents}
        info: Info = {"turn": self._turn, **({"success": has_won} if has_won or is_out else {})}
        return told, {speaker: is_right / 8}, over, truncated, {agent: dict(info) for agent in self.agents}

    def _tell(self, is_next: bool) -> str:
        request = f"what comes after {self._number}? Say the number alone." if is_next else "wait for the other."
        return f"Turn {self._turn} of {self.max_turns}: {request}"

    def _random_action(self, agent: str) -> str:
        return str(self.action_rng.randint(0, 100))

    def _save(self) -> dict[str, Any]:
        return {"turn": self._turn, "right": self._right, "number": self._number}

    def _load(self, episode: dict[str, Any]) -> None:
        turn, right, number = int(episode["turn"]), int(episode["right"]), int(episode["number"])
        self._turn, self._right, self._number = turn, right, number


class CountUpPolicy(Policy[Any, Any]):
    """Speaks for whoever is asked."""

    def act(self, observation: Any, info: Info) -> Any:
        asked = {agent: re.findall(r"after (\d+)", text) for agent, text in observation.items()}
        return {agent: str(int(numbers[0]) + 1) for agent, numbers in asked.items() if numbers}


class Orders(MultiAgentEnv):
    """In parallel: everybody repeats the number on a card of its own; cyd goes home after two of three rounds."""

    max_turns: ClassVar[int] = 3

    def __init__(self) -> None:
        super().__init__(["ann", "bob", "cyd"])
        self._round = self._right = 0
        self._cards: dict[str, int] = {}

    def observe(self, agent: str) -> str:
        return f"Round {self._round} of {self.max_turns}: your card shows {self._cards[agent]}. Say the number alone."

    def _begin(self) -> None:
        self._round = self._right = 0
        self._deal()

    def _deal(self) -> None:
        self._cards = {agent: self.rng.randint(0, 9) for agent in self.agents}

    def _process_actions(self, actions: dict[str, Any]) -> AgentsStepResult:
        rewards = {agent: (action_text(said) == str(self._cards[agent])) / 8 for agent, said in actions.items()}
        self._round += 1
        self._right += sum(map(bool, rewards.values()))
        self._deal()
        is_over = self._round == self.max_turns
        ended = {agent: is_over or (agent == "cyd" and self._round == 2) for agent in self.agents}
        told = {agent: "It is over for you." for agent, has_ended in ended.items() if has_ended}
        truncated = dict.fromkeys(self.agents, is_over and self._right < 8)
        info: Info = {"turn": self._round, **({"success": self._right == 8} if is_over else {})}
        return told, rewards, ended, truncated, {agent: dict(info) for agent in self.agents}

    def _random_action(self, agent: str) -> str:
        return str(self.action_rng.randint(0, 9))

    def _save(self) -> dict[str, Any]:
        return {"round": self._round, "right": self._right, "cards": dict(self._cards)}

    def _load(self, episode: dict[str, Any]) -> None:
        cards = {agent: int(episode["cards"][agent]) for agent in self.agents}
        self._round, self._right, self._cards = int(episode["round"]), int(episode["right"]), cards


class OrdersPolicy(Policy[Any, Any]):
    """Says for everybody what the card shows."""

    def act(self, observation: Any, info: Info) -> Any:
        # Whoever has gone home is shown no card any more.
        numbers = {agent: re.findall(r"shows (\d+)", text) for agent, text in observation.items()}
        return {agent: found[0] for agent, found in numbers.items() if found}
