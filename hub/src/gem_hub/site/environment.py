"""Renders what there is to see of one environment, for pages of any site: scores, and an episode to step through."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gem_hub.site.render import render_text
from gem_hub.site.views import BaseEnvironment, ExamplePart

__all__ = ["ShownTurn", "environment_body", "scored_agents"]

_AGENTS = ("random", "reference", "null")


@dataclass(frozen=True)
class ShownTurn:
    """A turn of an episode."""

    title: str
    observation: list[ExamplePart]
    """What the agent saw."""
    action: str
    """The answer; empty after the last observation."""
    reward: float | None
    """The reward of the action; None where there is no action."""


def scored_agents(environments: Iterable[BaseEnvironment], agents: Sequence[str] = _AGENTS) -> list[str]:
    """Return the agents that have a score in any variant of the environments; a table has columns for these alone."""
    scored = {agent for environment in environments for reward in environment.rewards for agent in reward.scores}
    return [agent for agent in agents if agent in scored]


def environment_body(
    environment: BaseEnvironment, turns: Sequence[ShownTurn] = (), played_id: str = "", agent: str = "reference"
) -> str:
    """Return the parts of an environment's page as HTML that needs no script.

    Args:
        environment: the environment with its variants and their scores.
        turns: an episode; without one, the first observation is shown if it is known.
        played_id: the variant of that episode.
        agent: the policy that played it.
    """
    return render_text(
        "environment_body.html",
        environment=environment,
        agents=scored_agents([environment]),
        turns=list(turns),
        played_id=played_id,
        agent=agent,
    )
