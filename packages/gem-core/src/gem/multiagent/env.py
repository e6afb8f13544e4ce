"""The base class of environments with several agents: :class:`MultiAgentEnv`.

A loop over an episode, whether the agents act in turns or all at once::

    observations, infos = env.reset(seed=7)
    while env.agents:
        actions = {agent: policy(agent, observations[agent]) for agent in env.active_agents}
        observations, rewards, terminations, truncations, infos = env.step(actions)

The words are PettingZoo's: ``agents``, ``possible_agents``, ``agent_selection``, and dicts with one entry for
each agent.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, overload

from gem.action_forms import ActionForm
from gem.arguments import boolean, choice, real, string
from gem.core import Env, Info
from gem.errors import ArgumentError, ArgumentTypeError, NotSupportedError, StateError
from gem.multiagent.selector import AgentSelector, agent_names
from gem.phases import EpisodePhase, out_of_order, unchanged_on_error
from gem.state_fields import StateFields

__all__ = ["AgentState", "AgentsStepResult", "MultiAgentEnv"]

AgentState = tuple[Any, float, bool, bool, Info]
"""Observation, rewards of the episode so far, terminated, truncated and info of one agent."""

AgentsStepResult = tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Info]]
"""Observations, rewards, terminations, truncations and infos, each by agent."""


class MultiAgentEnv(Env[dict[str, Any], dict[str, Any]]):
    """An environment in which several agents act, who may join and leave during an episode.

    A subclass defines ``observe`` and ``_process_actions``, usually also ``_begin``, which sets up an episode. It
    declares :attr:`form` and :attr:`saved` as in :class:`gem.TextEnv`. The constructor's arguments name the agents; a
    subclass may also set ``possible_agents`` and, for turns, ``agent_selector``.

    An agent whose episode is terminated or truncated leaves ``agents`` at the end of that step. The episode of
    the environment ends when no agent is left.

    Args:
        possible_agents: the agents at the beginning of every episode, in the order of their turns.
        mode: ``"parallel"``: all agents act in every step. ``"sequential"``: one agent acts in a step.
    """

    form: ActionForm[Any] | None = None
    """The form of every agent's action, for random actions; :func:`gem.action_forms.read_move` reads with it."""

    saved: ClassVar[StateFields | None] = None
    """The attributes that ``_begin`` or ``_process_actions`` assign, with their types; None for no state."""

    def __init__(
        self, possible_agents: Sequence[str] = (), mode: Literal["sequential", "parallel"] = "parallel"
    ) -> None:
        self.possible_agents = agent_names("possible_agents", possible_agents)
        self.agents: list[str] = []
        """The agents in the episode now, in the order of joining."""
        self.rewards: dict[str, float] = {}
        """The reward of each agent in the last step."""
        self.terminations: dict[str, bool] = {}
        self.truncations: dict[str, bool] = {}
        self.infos: dict[str, Info] = {}
        self.shared_memory: list[dict[str, str]] = []
        """The messages of this episode, oldest first: ``{"from": …, "to": …, "message": …}``."""
        self.global_context = ""
        """Text about the episode that concerns all agents; empty at its beginning."""
        self.agent_selector: AgentSelector | None = None
        if choice("mode", mode, ("sequential", "parallel")) == "sequential":
            self.agent_selector = AgentSelector(self.possible_agents, mode="sequential")
        self._cumulative_rewards: dict[str, float] = {}
        self._phase = EpisodePhase.NOT_BEGUN

    @property
    def active_agents(self) -> list[str]:
        """The agents that must act in the next step."""
        if self.agent_selector is None:
            return list(self.agents)
        return [agent for agent in self.agent_selector.get_active_agents() if agent in self.agents]

    @property
    def agent_selection(self) -> str | None:
        """The agent whose turn it is; None where all act at once, and after the end."""
        if self.agent_selector is None or self.agent_selector.mode == "parallel":
            return None
        return self.agent_selector.selected

    @property
    def num_agents(self) -> int:
        """Number of agents in the episode now."""
        return len(self.agents)

    @property
    def max_num_agents(self) -> int:
        """Number of agents at the beginning of an episode."""
        return len(self.possible_agents)

    @property
    def cumulative_rewards(self) -> dict[str, float]:
        """Each agent's sum of rewards in this episode, including agents that have left."""
        return dict(self._cumulative_rewards)

    def observe(self, agent: str) -> Any:
        """Return the current observation of an agent."""
        raise NotSupportedError(f"{type(self).__name__} does not implement observe")

    def _process_actions(self, actions: dict[str, Any]) -> AgentsStepResult:
        """Carry out the actions of the active agents.

        Returns:
            Observations, rewards, terminations, truncations and infos, each by agent. A missing agent
            gets its observation, reward 0.0, False, False and an empty info.
        """
        raise NotSupportedError(f"{type(self).__name__} does not implement _process_actions")

    def _begin(self) -> None:
        """Set up a new episode, drawing from ``self.rng``. ``agents`` is set already; observations follow."""

    def _random_action(self, agent: str) -> Any:
        """Return a random well-formed action of an agent, drawn from ``self.action_rng``."""
        if self.form is None:
            raise NotSupportedError(f"{type(self).__name__} has neither a form nor a _random_action")
        return self.form.sample(self.action_rng)

    def _save(self) -> dict[str, Any]:
        """Return the subclass's part of the state, as JSON values that share nothing with the episode."""
        if self.saved is None:
            raise NotSupportedError(f"{type(self).__name__} declares no saved attributes, so it has no state")
        return self.saved.save(self)

    def _load(self, episode: dict[str, Any]) -> None:
        """Undo :meth:`_save`: assign new objects, change none in place. Any ordinary error becomes a StateError."""
        if self.saved is None:
            raise NotSupportedError(f"{type(self).__name__} declares no saved attributes, so it has no state")
        self.saved.load(self, episode)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Info]]:
        """Begin a new episode with all of ``possible_agents``; see :meth:`gem.Env.reset`.

        A subclass with options handles them itself and calls ``super().reset(seed=seed)``.

        Raises:
            ArgumentError: if ``options`` is not empty, or no agent takes part.
        """
        if options:
            raise ArgumentError(f"{type(self).__name__} has no reset options, got {sorted(map(str, options))}")
        agents = agent_names("possible_agents", self.possible_agents)
        if not agents:
            raise ArgumentError(f"{type(self).__name__} needs possible_agents before its first reset")
        super().reset(seed=seed)
        self.agents, self.shared_memory, self.global_context = [], [], ""
        self.rewards, self.terminations, self.truncations, self.infos = {}, {}, {}, {}
        self._cumulative_rewards = {}
        if self.agent_selector is not None:
            self.agent_selector.reinit([])
        for agent in agents:
            self._enrol(agent)
        self._phase = EpisodePhase.PLAYING
        self._begin()
        return {agent: self.observe(agent) for agent in self.agents}, {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, Any]) -> AgentsStepResult:  # type: ignore[override]  # a dict where Env has a value
        """Carry out one action of each active agent.

        Args:
            actions: by agent, exactly one for each of ``active_agents``.

        Returns:
            Observations, rewards, terminations, truncations and infos, each with an entry for every agent
            that took part before this step or does after it. An agent removed during the step is terminated.

        Raises:
            ArgumentError: if ``actions`` is not a dict, an action is missing, or an inactive agent acts; the
                environment is then unchanged.
            ResetNeededError, EpisodeFinishedError: outside an episode.
        """
        self._check_in_play()
        if not isinstance(actions, Mapping):
            raise ArgumentError(f"actions must be a dict of agent and action, got {type(actions).__name__}")
        active = self.active_agents
        self._validate_actions(actions, active)
        before, acting = list(self.agents), self.agent_selection
        given = self._process_actions({agent: actions[agent] for agent in active})
        result = self._completed(given, [*before, *(agent for agent in self.agents if agent not in before)])
        # If the acting agent was removed, the turn has already passed to the next one.
        if acting is not None and self.agent_selector is not None and self.agent_selection == acting:
            self.agent_selector.next()
        self._remove_dead_agents()
        if not self.agents:
            self._phase = EpisodePhase.OVER
        return result

    def add_agent(self, agent_id: str) -> None:
        """Let an agent join the episode, after all others; does nothing if it takes part already.

        Raises:
            ResetNeededError, EpisodeFinishedError: outside an episode.
        """
        if self._phase is not EpisodePhase.PLAYING:
            raise out_of_order(self, self._phase)
        if string("agent_id", agent_id) not in self.agents:
            self._enrol(agent_id)

    def remove_agent(self, agent_id: str) -> None:
        """Let an agent leave the episode; does nothing if it takes no part."""
        if agent_id not in self.agents:
            return
        self.agents.remove(agent_id)
        for facts in (self.rewards, self.terminations, self.truncations, self.infos):
            facts.pop(agent_id, None)
        if self.agent_selector is not None:
            self.agent_selector.remove_agent(agent_id)

    def send_message(self, from_agent: str, to_agent: str, message: str) -> None:
        """Put a message into ``shared_memory``.

        Raises:
            ArgumentError: if sender or receiver is not in the episode.
        """
        self._check_member("sender", from_agent)
        self._check_member("receiver", to_agent)
        if not isinstance(message, str):
            raise ArgumentTypeError(f"message must be a str, got {type(message).__name__}")
        self.shared_memory.append({"from": from_agent, "to": to_agent, "message": message})

    def broadcast_message(self, from_agent: str, message: str) -> None:
        """Send a message to all other agents."""
        self._check_member("sender", from_agent)
        for agent in self.agents:
            if agent != from_agent:
                self.send_message(from_agent, agent, message)

    def get_active_states(self) -> dict[str, AgentState]:
        """Return ``get_state(agent)`` for each active agent."""
        return {agent: self.get_state(agent) for agent in self.active_agents}

    @overload
    def get_state(self, agent: None = None) -> dict[str, Any]: ...

    @overload
    def get_state(self, agent: str) -> AgentState: ...

    def get_state(self, agent: str | None = None) -> dict[str, Any] | AgentState:
        """Return the whole state, see :meth:`gem.Env.get_state`; or the current data of one agent.

        Args:
            agent: if given, return its observation, rewards so far, terminated, truncated and info.

        Raises:
            ArgumentError: if ``agent`` takes no part.
            NotSupportedError: if the caller asks for the whole state and the subclass declares none.
        """
        if agent is not None:
            self._check_member("agent", agent)
            flags = self.terminations[agent], self.truncations[agent]
            return self.observe(agent), self._cumulative_rewards[agent], *flags, dict(self.infos[agent])
        return {
            "environment": type(self).__name__,
            "phase": self._phase.value,
            "possible_agents": list(self.possible_agents),
            "agents": list(self.agents),
            "rewards": dict(self.rewards),
            "cumulative_rewards": dict(self._cumulative_rewards),
            "terminations": dict(self.terminations),
            "truncations": dict(self.truncations),
            "infos": copy.deepcopy(self.infos),
            "shared_memory": copy.deepcopy(self.shared_memory),
            "global_context": self.global_context,
            "selector": None if self.agent_selector is None else self.agent_selector.get_state(),
            "episode": None if self._phase is EpisodePhase.NOT_BEGUN else self._save(),
            **self.generator_state(),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Continue from a state that ``get_state()`` returned; StateError leaves this environment unchanged."""
        name = type(self).__name__
        if not isinstance(state, Mapping) or state.get("environment") != name:
            raise StateError(f"not a state of {name}")
        with unchanged_on_error(self):
            self._set_members(copy.deepcopy(dict(state)))
            if self._phase is not EpisodePhase.NOT_BEGUN:
                self._load(copy.deepcopy(state["episode"]))
            self.set_generator_state(state)

    def sample_random_action(self) -> dict[str, Any]:
        """Return a random action of each active agent.

        Raises:
            ResetNeededError, EpisodeFinishedError: outside an episode.
            NotSupportedError: if the subclass has no ``form`` and no ``_random_action``.
        """
        self._check_in_play()
        return {agent: self._random_action(agent) for agent in self.active_agents}

    def _set_members(self, state: dict[str, Any]) -> None:
        agents = agent_names("agents", state["agents"])
        self.possible_agents = agent_names("possible_agents", state["possible_agents"])
        self.agents = agents
        self.rewards = {agent: real("a reward", state["rewards"][agent]) for agent in agents}
        self.terminations = {agent: boolean("a flag", state["terminations"][agent]) for agent in agents}
        self.truncations = {agent: boolean("a flag", state["truncations"][agent]) for agent in agents}
        self.infos = {agent: dict(state["infos"][agent]) for agent in agents}
        self._cumulative_rewards = {
            string("agent", agent): real("a sum of rewards", reward)
            for agent, reward in state["cumulative_rewards"].items()
        }
        self.shared_memory = [dict(message) for message in state["shared_memory"]]
        self.global_context = str(state["global_context"])
        self.agent_selector = None if state["selector"] is None else AgentSelector.from_state(state["selector"])
        self._phase = EpisodePhase(state["phase"])

    def _enrol(self, agent: str) -> None:
        self.agents.append(agent)
        self.rewards[agent], self.terminations[agent], self.truncations[agent] = 0.0, False, False
        self.infos[agent] = {}
        self._cumulative_rewards.setdefault(agent, 0.0)
        if self.agent_selector is not None:
            self.agent_selector.add_agent(agent)

    def _validate_actions(self, actions: Mapping[str, Any], active_agents: list[str]) -> None:
        missing = [agent for agent in active_agents if agent not in actions]
        extra = [agent for agent in actions if agent not in active_agents]
        if not missing and not extra:
            return
        problem = f"no action for {missing[0]!r}" if missing else f"{extra[0]!r:.80} is not to act"
        raise ArgumentError(f"{problem}; in this step an action is due from {', '.join(active_agents) or 'no agent'}")

    def _completed(self, given: object, agents: list[str]) -> AgentsStepResult:
        """Take over the results of a step, and return them with an entry for every agent."""
        if not isinstance(given, tuple) or len(given) != 5 or not all(isinstance(item, Mapping) for item in given):
            raise ArgumentTypeError(
                f"{type(self).__name__}._process_actions must return five dicts: observations, rewards, "
                f"terminations, truncations and infos; it returned {type(given).__name__}"
            )
        observations, rewards, terminations, truncations, infos = given
        result: AgentsStepResult = ({}, {}, {}, {}, {})
        for agent in agents:
            has_left = agent not in self.agents
            truncated = bool(truncations.get(agent)) or self.truncations.get(agent, False)
            terminated = bool(terminations.get(agent)) or self.terminations.get(agent, False)
            terminated = terminated or (has_left and not truncated)
            observation = observations[agent] if agent in observations else "" if has_left else self.observe(agent)
            reward, info = float(rewards.get(agent, 0.0)), dict(infos.get(agent) or {})
            result[0][agent], result[1][agent], result[4][agent] = observation, reward, info
            result[2][agent], result[3][agent] = terminated, truncated
            self._cumulative_rewards[agent] += reward
            if not has_left:
                self.rewards[agent], self.infos[agent] = reward, dict(info)
                self.terminations[agent], self.truncations[agent] = terminated, truncated
        return result

    def _remove_dead_agents(self) -> None:
        for agent in list(self.agents):
            if self.terminations.get(agent) or self.truncations.get(agent):
                self.remove_agent(agent)
        # A subclass may have removed an agent from the list ``agents`` itself.
        for agent in [] if self.agent_selector is None else self.agent_selector.agents:
            if agent not in self.agents and self.agent_selector is not None:
                self.agent_selector.remove_agent(agent)

    def _check_member(self, role: str, agent: object) -> None:
        if agent not in self.agents:
            raise ArgumentError(f"{role} {agent!r:.80} takes no part; there are {', '.join(self.agents) or 'none'}")

    def _check_in_play(self) -> None:
        if self._phase is not EpisodePhase.PLAYING:
            raise out_of_order(self, self._phase)
        if not self.agents:
            raise out_of_order(self, EpisodePhase.OVER)
