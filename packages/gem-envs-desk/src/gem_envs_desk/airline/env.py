"""Airline: the desk of an airline."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem_envs_desk.airline.content import SCHEMA
from gem_envs_desk.airline.tasks import airline_task
from gem_envs_desk.airline.tools import AGENT_TOOLS
from gem_envs_desk.domain import DeskDomain, StoreWorld
from gem_envs_desk.env import DeskEnv
from gem_envs_desk.task import DeskTask

__all__ = ["AirlineDomain", "AirlineEnv"]


class AirlineDomain(DeskDomain):
    """An airline: cancelling, rebooking, upgrades, bags, delays, with charges that the agent computes."""

    name = "airline"
    policy = (Path(__file__).parent / "policy.md").read_text(encoding="utf-8")

    def task(self, number: int, level: int, split: str) -> DeskTask:
        return airline_task(number, level, split)

    def open(self, state: Mapping[str, Any]) -> StoreWorld:
        return StoreWorld(SCHEMA, state, AGENT_TOOLS)


class AirlineEnv(DeskEnv):
    """A customer of an airline per episode. Level n has n requests; see :class:`gem_envs_desk.env.DeskEnv`."""

    domain = AirlineDomain()
    role = "agent at the service desk of an airline"
