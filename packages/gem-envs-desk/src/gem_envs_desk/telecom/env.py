"""Telecom: the desk of a mobile network, with customers who have tools of their own."""

from __future__ import annotations

from random import Random

from gem_envs_desk.acts.env import ActDeskEnv, ActDomain
from gem_envs_desk.acts.language import DATE, DeskActs, FactKind
from gem_envs_desk.domain import StoreDomain, policy_page
from gem_envs_desk.env import DeskEnv
from gem_envs_desk.task import DeskTask
from gem_envs_desk.telecom.content import PLANS, SCHEMA
from gem_envs_desk.telecom.tasks import GROUNDS, PHRASES, telecom_task
from gem_envs_desk.telecom.tools import AGENT_TOOLS, USER_TOOLS

__all__ = ["TelecomActsDomain", "TelecomActsEnv", "TelecomDomain", "TelecomEnv"]


class TelecomDomain(StoreDomain):
    """A mobile network: lines that the agent repairs, phones that the customer repairs when told how."""

    name = "telecom"
    policy = policy_page(__file__)
    schema, agent_tools, user_tools = SCHEMA, AGENT_TOOLS, USER_TOOLS

    def drawn(self, rng: Random, level: int, split: str) -> DeskTask:
        return telecom_task(rng, level, split, 1)


class TelecomEnv(DeskEnv):
    """A customer without a data connection per episode (dual control). Level n has n faults; see :class:`DeskEnv`."""

    domain = TelecomDomain()
    role = "agent at the service desk of a mobile network"


class TelecomActsDomain(ActDomain, TelecomDomain):
    """The same network, whose customers understand typed speech acts."""

    records = "lines"
    acts = DeskActs(
        writes=("request_payment", "resume_line", "enable_roaming", "add_data", "open_case"),
        topics=("e-mail", "name", "number", "place", "reason", "since", "restarted"),
        facts={
            "bill": FactKind("amount", column=("bills", "amount")),
            "data price": FactKind("amount", ("price",), named=(10.0,)),
            "contract end": FactKind("answer", form=DATE, column=("lines", "contract_ends")),
            "due date": FactKind("answer", form=DATE, column=("bills", "due_on")),
            "paid bill": FactKind("amount", column=("bills", "amount")),
            "plan": FactKind("answer", form="|".join(PLANS), column=("lines", "plan")),
        },
        grounds=GROUNDS,
        unknown={"request_payment": ("bill_id",)},
    )

    def drawn(self, rng: Random, level: int, split: str) -> DeskTask:
        return telecom_task(rng, level, split, min(level + 1, 3), PHRASES)


class TelecomActsEnv(ActDeskEnv):
    """A customer without a data connection per episode, who also asks one or two questions; see :class:`ActDeskEnv`."""

    domain = TelecomActsDomain()
    role = TelecomEnv.role
