"""Airline: the desk of an airline."""

from __future__ import annotations

from gem_envs_desk.acts.env import ActDeskEnv, ActDomain
from gem_envs_desk.acts.language import DeskActs, FactKind
from gem_envs_desk.airline import tools
from gem_envs_desk.airline.content import SCHEMA, Airline
from gem_envs_desk.airline.tasks import GROUNDS, PHRASES, PassengerRequests
from gem_envs_desk.domain import policy_page, tools_of
from gem_envs_desk.env import DeskEnv
from gem_envs_desk.request_maker import RequestDomain

__all__ = ["AirlineActsDomain", "AirlineActsEnv", "AirlineDomain", "AirlineEnv"]


class AirlineDomain(RequestDomain):
    """An airline: cancelling, rebooking, upgrades, bags, delays, with charges that the agent computes."""

    name = "airline"
    policy = policy_page(__file__)
    schema, agent_tools = SCHEMA, tools_of(tools)
    content, maker = Airline, PassengerRequests


class AirlineEnv(DeskEnv):
    """A customer of an airline per episode. Level n has n requests; see :class:`gem_envs_desk.env.DeskEnv`."""

    domain = AirlineDomain()
    role = "agent at the service desk of an airline"


class AirlineActsDomain(ActDomain, AirlineDomain):
    """The same airline, whose customers understand typed speech acts."""

    records, phrases = "bookings", PHRASES
    acts = DeskActs(
        writes=("cancel_booking", "rebook", "upgrade", "set_bags", "pay_compensation", "open_case"),
        topics=("e-mail", "name", "wish", "booking", "reason", "day", "cabin", "bags"),
        facts={
            "refund": FactKind("amount", ("refund",)),
            "charge": FactKind("amount", ("charge",)),
            "compensation": FactKind("amount", ("amount",)),
            "departure": FactKind("time", column=("flights", "departs")),
        },
        grounds=GROUNDS,
        unknown={
            "cancel_booking": ("refund",),
            "rebook": ("charge",),
            "upgrade": ("charge",),
            "set_bags": ("charge",),
            "pay_compensation": ("amount",),
        },
        lookups={"flight_id": ("flights", "date")},
    )


class AirlineActsEnv(ActDeskEnv):
    """A customer of an airline per episode, with a wish more than the level; see :class:`ActDeskEnv`."""

    domain = AirlineActsDomain()
    role = AirlineEnv.role
