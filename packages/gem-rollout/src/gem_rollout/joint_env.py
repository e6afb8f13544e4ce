"""An environment with several agents in the place of one with a single agent: :class:`JointEnv`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gem.core import Env, Info
from gem.env_spec import EnvSpec
from gem.multiagent import MultiAgentEnv
from gem.registry import make
from gem.wrappers import WrapperLike

__all__ = ["JointEnv", "JointMaker"]


class JointEnv(Env[dict[str, Any], dict[str, Any]]):
    """Steps an environment with several agents where a vector environment expects one value each.

    The action is a dict with one action for each active agent. The observation is the dict of observations. ``info``
    has ``active`` (the agents that act next), ``infos``, and after a step ``rewards``, ``terminations`` and
    ``truncations``, each by agent. The episode is terminated when no agent is left.
    """

    def __init__(self, env: Env[Any, Any], agents: MultiAgentEnv) -> None:
        self.env = env
        """The environment with its wrappers."""
        self.spec = env.spec
        self._agents = agents

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], Info]:
        observations, infos = self.env.reset(seed=seed)
        return observations, {"infos": infos, "active": self._agents.active_agents}

    def step(self, action: dict[str, Any]) -> tuple[dict[str, Any], float, bool, bool, Info]:
        observations, rewards, terminations, truncations, infos = self.env.step(action)
        info: Info = {
            "infos": infos,
            "active": self._agents.active_agents,
            "rewards": rewards,
            "terminations": terminations,
            "truncations": truncations,
        }
        return observations, 0.0, not self._agents.agents, False, info

    def close(self) -> None:
        self.env.close()


@dataclass(frozen=True)
class JointMaker:
    """Makes an environment, as a :class:`JointEnv` if it has several agents; for other processes."""

    spec: EnvSpec
    wrappers: tuple[WrapperLike, ...]

    def __call__(self) -> Env[Any, Any]:
        env = make(self.spec, wrappers=self.wrappers)
        inner = env.unwrapped
        return JointEnv(env, inner) if isinstance(inner, MultiAgentEnv) else env
