"""Retail: the desk of an online shop."""

from __future__ import annotations

from random import Random

from gem_envs_desk.acts.env import ActDeskEnv, ActDomain
from gem_envs_desk.acts.language import DeskActs, FactKind
from gem_envs_desk.domain import StoreDomain, policy_page
from gem_envs_desk.env import DeskEnv
from gem_envs_desk.retail.content import SCHEMA
from gem_envs_desk.retail.tasks import GROUNDS, PHRASES, retail_task
from gem_envs_desk.retail.tools import AGENT_TOOLS
from gem_envs_desk.task import DeskTask

__all__ = ["RetailActsDomain", "RetailActsEnv", "RetailDomain", "RetailEnv"]


class RetailDomain(StoreDomain):
    """An online shop: cancelling, swapping, returning, addresses, lost parcels."""

    name = "retail"
    policy = policy_page(__file__)
    schema, agent_tools = SCHEMA, AGENT_TOOLS

    def drawn(self, rng: Random, level: int, split: str) -> DeskTask:
        return retail_task(rng, level, split, level)


class RetailEnv(DeskEnv):
    """A customer of an online shop per episode. Level n has n requests; see :class:`gem_envs_desk.env.DeskEnv`."""

    domain = RetailDomain()
    role = "agent at the service desk of an online shop"


class RetailActsDomain(ActDomain, RetailDomain):
    """The same shop, whose customers understand typed speech acts."""

    records = "orders"
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

    def drawn(self, rng: Random, level: int, split: str) -> DeskTask:
        return retail_task(rng, level, split, level + 1, PHRASES)


class RetailActsEnv(ActDeskEnv):
    """A customer of an online shop per episode, with a wish more than the level; see :class:`ActDeskEnv`."""

    domain = RetailActsDomain()
    role = RetailEnv.role
