"""Retail: the desk of an online shop."""

from __future__ import annotations

from gem_envs_desk.acts.env import ActDeskEnv, ActDomain
from gem_envs_desk.acts.language import DeskActs, FactKind
from gem_envs_desk.domain import policy_page, tools_of
from gem_envs_desk.env import DeskEnv
from gem_envs_desk.request_maker import RequestDomain
from gem_envs_desk.retail import tools
from gem_envs_desk.retail.content import SCHEMA, Shop
from gem_envs_desk.retail.tasks import GROUNDS, PHRASES, ShopperRequests

__all__ = ["RetailActsDomain", "RetailActsEnv", "RetailDomain", "RetailEnv"]


class RetailDomain(RequestDomain):
    """An online shop: cancelling, swapping, returning, addresses, lost parcels."""

    name = "retail"
    policy = policy_page(__file__)
    schema, agent_tools = SCHEMA, tools_of(tools)
    content, maker = Shop, ShopperRequests


class RetailEnv(DeskEnv):
    """A customer of an online shop per episode. Level n has n requests; see :class:`gem_envs_desk.env.DeskEnv`."""

    domain = RetailDomain()
    role = "agent at the service desk of an online shop"


class RetailActsDomain(ActDomain, RetailDomain):
    """The same shop, whose customers understand typed speech acts."""

    records, phrases = "orders", PHRASES
    acts = DeskActs(
        writes=("cancel_order", "change_address", "swap_item", "refund_item", "open_case"),
        topics=(
            "e-mail", "name", "zip", "wish", "order", "item", "variant", "reason", "address", "old address",
            "delivery address", "target", "placed",
        ),
        facts={
            "refund": FactKind("amount", ("amount",)),
            "price": FactKind("amount", is_public=True, column=("items", "price")),
        },
        grounds=GROUNDS,
        unknown={"refund_item": ("amount",)},
    )  # fmt: skip


class RetailActsEnv(ActDeskEnv):
    """A customer of an online shop per episode, with a wish more than the level; see :class:`ActDeskEnv`."""

    domain = RetailActsDomain()
    role = RetailEnv.role
