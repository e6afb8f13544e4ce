"""Retail: the desk of an online shop."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem_envs_desk.domain import DeskDomain, StoreWorld
from gem_envs_desk.env import DeskEnv
from gem_envs_desk.retail.content import SCHEMA
from gem_envs_desk.retail.tasks import retail_task
from gem_envs_desk.retail.tools import AGENT_TOOLS
from gem_envs_desk.task import DeskTask

__all__ = ["RetailDomain", "RetailEnv"]


class RetailDomain(DeskDomain):
    """An online shop: cancelling, swapping, returning, addresses, lost parcels."""

    name = "retail"
    policy = (Path(__file__).parent / "policy.md").read_text(encoding="utf-8")

    def task(self, number: int, level: int, split: str) -> DeskTask:
        return retail_task(number, level, split)

    def open(self, state: Mapping[str, Any]) -> StoreWorld:
        return StoreWorld(SCHEMA, state, AGENT_TOOLS)


class RetailEnv(DeskEnv):
    """A customer of an online shop per episode. Level n has n requests; see :class:`gem_envs_desk.env.DeskEnv`."""

    domain = RetailDomain()
    role = "agent at the service desk of an online shop"
