"""Retail: the desk of an online shop."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem_envs_desk.acts.env import ActDeskEnv, ActDomain
from gem_envs_desk.acts.language import DeskActs, FactKind
from gem_envs_desk.domain import DeskDomain, StoreWorld
from gem_envs_desk.env import DeskEnv
from gem_envs_desk.retail.content import SCHEMA
from gem_envs_desk.retail.tasks import GROUNDS, retail_acts_task, retail_task
from gem_envs_desk.retail.tools import AGENT_TOOLS
from gem_envs_desk.task import DeskTask

__all__ = ["RetailActsDomain", "RetailActsEnv", "RetailDomain", "RetailEnv"]


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


class RetailActsDomain(RetailDomain, ActDomain):
    """The same shop, whose customers understand typed speech acts."""

    schema = SCHEMA
    acts = DeskActs(
        writes=("cancel_order", "change_address", "swap_item", "refund_item", "open_case"),
        topics=(
            "e-mail", "name", "zip", "wish", "order", "item", "variant", "reason", "address", "old address",
            "delivery address", "target", "placed",
        ),
        facts={"refund": FactKind("amount", ("amount",)), "price": FactKind("amount", is_public=True)},
        grounds=GROUNDS,
        unknown={"refund_item": ("amount",)},
    )  # fmt: skip

    def task(self, number: int, level: int, split: str) -> DeskTask:
        return retail_acts_task(number, level, split)


class RetailActsEnv(ActDeskEnv):
    """A customer of an online shop per episode, with a wish more than the level; see :class:`ActDeskEnv`."""

    domain = RetailActsDomain()
    role = RetailEnv.role
