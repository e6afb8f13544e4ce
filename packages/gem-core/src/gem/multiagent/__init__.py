"""Environments in which several agents act: in turns, or all at once."""

from __future__ import annotations

from gem.multiagent.env import MultiAgentEnv
from gem.multiagent.selector import AgentSelector

__all__ = ["AgentSelector", "MultiAgentEnv"]
