"""Library: the desk of a public library."""

from __future__ import annotations

from gem_envs_desk.acts.env import ActDeskEnv, ActDomain
from gem_envs_desk.acts.language import DATE, DeskActs, FactKind
from gem_envs_desk.domain import policy_page, tools_of
from gem_envs_desk.library import tools
from gem_envs_desk.library.content import SCHEMA, Library
from gem_envs_desk.library.tasks import GROUNDS, PHRASES, ReaderRequests
from gem_envs_desk.request_maker import RequestDomain

__all__ = ["LibraryActsDomain", "LibraryActsEnv"]


class LibraryActsDomain(ActDomain, RequestDomain):
    """A public library: renewing, holds, fines, lost items, with dates and charges that the agent computes."""

    name = "library"
    policy = policy_page(__file__)
    schema, agent_tools = SCHEMA, tools_of(tools)
    content, maker, phrases = Library, ReaderRequests, PHRASES
    records = "loans"
    acts = DeskActs(
        writes=(
            "renew", "place_hold", "move_hold", "pay_fine", "pay_all_fines", "waive_fine", "report_lost", "open_case",
        ),
        topics=("e-mail", "name", "card", "loan", "title", "branch", "reason"),
        facts={
            "due date": FactKind("answer", ("due_on",), form=DATE, column=("loans", "due_on")),
            "fines": FactKind("amount"),
            "charge": FactKind("amount", ("charge",)),
        },
        grounds=GROUNDS,
        unknown={"renew": ("due_on",), "report_lost": ("charge",)},
        lookups={"title_id": ("titles", "name")},
    )  # fmt: skip


class LibraryActsEnv(ActDeskEnv):
    """A reader of a library per episode, with a wish more than the level; see :class:`ActDeskEnv`."""

    domain = LibraryActsDomain()
    role = "agent at the service desk of a public library"
