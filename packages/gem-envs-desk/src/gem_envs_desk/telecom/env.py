"""Telecom: the desk of a mobile network, with customers who have tools of their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem_envs_desk.acts.env import ActDeskEnv, ActDomain
from gem_envs_desk.acts.language import DeskActs, FactKind
from gem_envs_desk.domain import DeskDomain, StoreWorld
from gem_envs_desk.env import DeskEnv
from gem_envs_desk.task import DeskTask
from gem_envs_desk.telecom.content import SCHEMA
from gem_envs_desk.telecom.tasks import GROUNDS, telecom_acts_task, telecom_task
from gem_envs_desk.telecom.tools import AGENT_TOOLS, USER_TOOLS

__all__ = ["TelecomActsDomain", "TelecomActsEnv", "TelecomDomain", "TelecomEnv"]


class TelecomDomain(DeskDomain):
    """A mobile network: lines that the agent repairs, phones that the customer repairs when told how."""

    name = "telecom"
    policy = (Path(__file__).parent / "policy.md").read_text(encoding="utf-8")

    def task(self, number: int, level: int, split: str) -> DeskTask:
        return telecom_task(number, level, split)

    def open(self, state: Mapping[str, Any]) -> StoreWorld:
        return StoreWorld(SCHEMA, state, AGENT_TOOLS, USER_TOOLS)


class TelecomEnv(DeskEnv):
    """A customer without a data connection per episode (dual control). Level n has n faults; see :class:`DeskEnv`."""

    domain = TelecomDomain()
    role = "agent at the service desk of a mobile network"


class TelecomActsDomain(TelecomDomain, ActDomain):
    """The same network, whose customers understand typed speech acts."""

    schema = SCHEMA
    acts = DeskActs(
        writes=("request_payment", "resume_line", "enable_roaming", "add_data", "open_case"),
        topics=("e-mail", "name", "number", "place", "reason", "since", "restarted"),
        facts={
            "bill": FactKind("amount"),
            "data price": FactKind("amount", ("price",)),
            "contract end": FactKind("answer"),
            "due date": FactKind("answer"),
        },
        grounds=GROUNDS,
        unknown={"request_payment": ("bill_id",)},
    )

    def task(self, number: int, level: int, split: str) -> DeskTask:
        return telecom_acts_task(number, level, split)


class TelecomActsEnv(ActDeskEnv):
    """A customer without a data connection per episode, who also asks for a date; see :class:`ActDeskEnv`."""

    domain = TelecomActsDomain()
    role = TelecomEnv.role
