"""Colleagues: what they know, what they may approve, what they forget; :func:`answered` carries the acts out.

The agent talks to colleagues by typed acts, and they answer the act, so that no wording of the agent changes an
outcome. A colleague who forgets promises something at the first request and does it at the second. They know the
policies: asked for an act that breaks one, they refuse it and name it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from gem_envs_office.office import Office
from gem_envs_office.store import Row
from gem_envs_office.values import OfficeRefusalError

__all__ = ["ColleagueReply", "ColleagueScript", "ColleagueVoice", "Decision", "answered", "plainly"]

Perform = Callable[[Row, str, Mapping[str, Any]], Any]
"""Carries out a call as an employee and returns its answer, or raises OfficeRefusalError."""


ReplyOutcome = Literal["known", "unknown", "approved", "refused", "promised", "done"]


class ColleagueReply(NamedTuple):
    """What a colleague answers, before anybody puts it into words."""

    outcome: ReplyOutcome
    text: str


ColleagueVoice = Callable[[Row, str, Mapping[str, Any], ColleagueReply], str]
"""Returns the words in which a colleague gives a reply to an act with its arguments."""


def plainly(colleague: Row, tool: str, given: Mapping[str, Any], reply: ColleagueReply) -> str:
    """Return the words of the script."""
    return reply.text


class Decision(NamedTuple):
    """What there is to approve."""

    approvers: tuple[str, ...]
    """Those who may approve it, employee keys."""
    amount: float | None = None
    """The amount that is right; None where no money is paid."""


@dataclass
class ColleagueScript:
    """What the colleagues of a task know and do."""

    answers: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """Employee, topic and key of what it is about → what they say."""
    decisions: dict[tuple[str, str], Decision] = field(default_factory=dict)
    """Kind and key → what is approved."""
    forgetful: set[str] = field(default_factory=set)
    """Those who forget what they are asked for once."""


def answered(
    office: Office,
    script: ColleagueScript,
    tool: str,
    given: Mapping[str, Any],
    perform: Perform,
    voice: ColleagueVoice = plainly,
) -> Any:
    """Return a colleague's answer to an act, in the words of a voice.

    Raises:
        OfficeRefusalError: if the act cannot be addressed to them.
    """
    colleague = office.store.get("employees", given["employee_id"])
    assert colleague is not None
    name = colleague["name"]
    if colleague["employee_id"] == office.actor_id:
        raise OfficeRefusalError("That is you; an act is addressed to a colleague.")
    if colleague["status"] != "active":
        deputy = f" {colleague['deputy_id']} stands in for me." if colleague["deputy_id"] else ""
        away = f" until {colleague['away_until']}" if colleague["away_until"] else ""
        return {"answer": f"Automatic reply of {name}: I am away{away}.{deputy}"}
    if tool == "ask_colleague":
        known = script.answers.get((colleague["employee_id"], given["topic"], given["about"]))
        reply = ColleagueReply("unknown", "That I do not know.") if known is None else ColleagueReply("known", known)
    elif tool == "request_approval":
        what = {name: value for name, value in given.items() if name != "employee_id"}
        reply = _approval(office, script, colleague, what)
    else:
        reply = _deed(office, script, colleague, given, perform)
    return {"answer": f"{name}: {voice(colleague, tool, given, reply)}"}


def _approval(office: Office, script: ColleagueScript, colleague: Row, what: Mapping[str, Any]) -> ColleagueReply:
    decision = script.decisions.get((what["kind"], what["about"]))
    if decision is None:
        return ColleagueReply(
            "refused", f"There is nothing about {what['about']} that I could approve as {what['kind']}."
        )
    if colleague["employee_id"] not in decision.approvers:
        return ColleagueReply("refused", "I may not approve that. The policy says who may.")
    if what.get("amount") != decision.amount:
        return ColleagueReply(
            "refused", "I have looked at it and do not approve this amount. Look at the data and the policy once more."
        )
    if _forgotten(office, script, colleague, "request_approval", what):
        return ColleagueReply("promised", "I will look at it today.")
    key = office.store.insert(
        "approvals",
        kind=what["kind"],
        about=what["about"],
        amount=what.get("amount"),
        approver_id=colleague["employee_id"],
        requester_id=office.actor_id,
        decided_at=office.seq,
    )
    return ColleagueReply("approved", f"Approved, as {key}.")


def _deed(
    office: Office, script: ColleagueScript, colleague: Row, given: Mapping[str, Any], perform: Perform
) -> ColleagueReply:
    tool, arguments = given["tool"], given["arguments"]
    if _forgotten(office, script, colleague, tool, arguments):
        return ColleagueReply("promised", "I will see to it.")
    try:
        done = perform(colleague, tool, arguments)
    except OfficeRefusalError as error:
        return ColleagueReply("refused", f"I cannot do that. {error}")
    return ColleagueReply("done", f"Done: {json.dumps(done, ensure_ascii=False)}")


def _forgotten(
    office: Office, script: ColleagueScript, colleague: Row, tool: str, arguments: Mapping[str, Any]
) -> bool:
    """Return whether a colleague forgets this request: the first one of its kind, if they are forgetful."""
    if colleague["employee_id"] not in script.forgetful:
        return False
    text = json.dumps(arguments, sort_keys=True, ensure_ascii=False)
    before = office.store.find(
        "colleague_requests", colleague_id=colleague["employee_id"], tool=tool, arguments=text, status="promised"
    )
    if before:
        office.store.update("colleague_requests", before[0]["request_id"], status="done")
        return False
    office.store.insert(
        "colleague_requests", colleague_id=colleague["employee_id"], tool=tool, arguments=text, status="promised"
    )
    return True
