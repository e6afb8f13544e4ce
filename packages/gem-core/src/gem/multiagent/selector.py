"""The order of turns: :class:`AgentSelector`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from gem.arguments import choice, string
from gem.errors import ArgumentError, ArgumentTypeError, StateError

__all__ = ["AgentSelector", "agent_names"]


class AgentSelector:
    """Agents that act in rounds, while some leave and others join.

    In ``"sequential"`` mode one agent at a time has the turn, ``selected``, and :meth:`next` passes it on. In a
    round every agent has one turn, in the order of joining; one that joins has its turn in the same round,
    unless it had one before it left. When the agent whose turn it is leaves, the turn goes to the one after it,
    without a call of :meth:`next`. So no agent is skipped or acts twice in a round, whichever agents join or leave.

    In ``"parallel"`` mode all agents act at once: every step is a round, and :meth:`next` changes nothing.

    Args:
        agents: names, in the order of their turns.
        mode: ``"sequential"`` or ``"parallel"``.
    """

    def __init__(self, agents: Sequence[str], mode: Literal["sequential", "parallel"] = "sequential") -> None:
        self.mode = choice("mode", mode, ("sequential", "parallel"))
        self.reinit(agents)

    @property
    def agents(self) -> list[str]:
        """All agents, in order."""
        return list(self._agents)

    @property
    def selected(self) -> str | None:
        """The agent whose turn it is, in parallel mode the first agent; None without agents."""
        return next((agent for agent in self._agents if agent not in self._acted), None)

    def get_active_agents(self) -> list[str]:
        """Return the agents that act now: the selected one, or all of them in parallel mode."""
        selected = self.selected
        if self.mode == "parallel" or selected is None:
            return list(self._agents)
        return [selected]

    def next(self) -> str | None:
        """End the turn of the selected agent; return the next one."""
        selected = self.selected
        if self.mode == "sequential" and selected is not None:
            self._acted.append(selected)
            self._end_round_if_all_acted()
        return self.selected

    def is_first(self) -> bool:
        """Return whether no agent has had a turn in this round yet."""
        return not self._acted

    def is_last(self) -> bool:
        """Return whether the round ends with this turn."""
        return self.mode == "parallel" or sum(agent not in self._acted for agent in self._agents) <= 1

    def reinit(self, agents: Sequence[str]) -> None:
        """Begin the first round of these agents.

        Raises:
            ArgumentTypeError, ArgumentError: if they are not names, or a name occurs twice.
        """
        self._agents = agent_names("agents", agents)
        self._acted: list[str] = []  # agents that had a turn in this round, including those that have left since

    def add_agent(self, agent: str) -> None:
        """Let an agent join, after all others; does nothing if it is there already."""
        if string("agent", agent) not in self._agents:
            self._agents.append(agent)

    def remove_agent(self, agent: str) -> None:
        """Let an agent leave; does nothing if it is not there."""
        if agent in self._agents:
            self._agents.remove(agent)
            self._end_round_if_all_acted()

    def get_state(self) -> dict[str, Any]:
        """Return mode, agents and turn, JSON-serialisable."""
        return {"mode": self.mode, "agents": list(self._agents), "acted": list(self._acted)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> AgentSelector:
        """Return a selector that continues from a state of ``get_state``.

        Raises:
            StateError: if it is not such a state.
        """
        try:
            selector = cls(state["agents"], state["mode"])
            selector._acted = agent_names("acted", state["acted"])
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(f"not the state of an AgentSelector: {error!r}") from error
        if selector._agents and selector.selected is None:
            raise StateError("not the state of an AgentSelector: no agent has the turn")
        return selector

    def __repr__(self) -> str:
        return f"AgentSelector({self._agents!r}, mode={self.mode!r}, selected={self.selected!r})"

    def _end_round_if_all_acted(self) -> None:
        if all(agent in self._acted for agent in self._agents):
            self._acted = []


def agent_names(argument: str, agents: object) -> list[str]:
    """Return agents as a new list.

    Raises:
        ArgumentTypeError: if they are not names, which are non-empty str.
        ArgumentError: if a name occurs twice.
    """
    if not isinstance(agents, Sequence) or isinstance(agents, (str, bytes)):  # the order of a set would be random
        raise ArgumentTypeError(f"{argument} must be a list of names, got {type(agents).__name__}")
    names = [string(f"a name in {argument}", agent) for agent in agents]
    if len(set(names)) < len(names):
        raise ArgumentError(f"{argument} must differ, got {names!r:.200}")
    return names
