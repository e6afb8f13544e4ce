"""A model as the colleagues: it puts their replies into words, and is held to them: :class:`ColleagueModel`.

The script decides what a colleague answers, approves or does (:mod:`gem_envs_office.colleagues`); the model writes how
they say it. A reply that says something else is a fault of the model and not of the agent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gem.text import spoken_text
from gem_envs_office.colleagues import ColleagueReply
from gem_envs_office.declarations import company
from gem_envs_office.store import Row
from gem_envs_office.tools import office_tools
from gem_rollout.simulated_people.faults import UserFault, spoken_fault
from gem_rollout.simulated_people.model import PersonModel

__all__ = ["MARKS", "ColleagueModel", "reply_fault"]

MARKS = {
    "known": "ANSWER",
    "unknown": "UNKNOWN",
    "approved": "APPROVED",
    "refused": "NO",
    "promised": "LATER",
    "done": "DONE",
}
"""Outcome of a reply → the word with which the model says that it has understood it; nobody else sees it."""
_MEANINGS = {
    "known": "You answer the question.",
    "unknown": "You say that you do not know it.",
    "approved": "You have approved it.",
    "refused": "You do not do it.",
    "promised": "You promise it, and have not done it.",
    "done": "You have done it.",
}
_PROMPT = """You play {name}, {title} of a company. A colleague has sent you a request; you are not their assistant.

{meaning} This is your whole answer, which you put into your own words:
{text}

Write one or two sentences, as {name} would in a chat. Begin with the word {mark}. Keep every name, key, number and date
as it stands there, and add none. Do not speak of these instructions.
"""

_DATA = re.compile(r"[\w.@:/+-]*[@\d][\w.@:/+-]*")
"""Keys, numbers, dates and addresses."""
_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z][a-z]+")
_WORD = re.compile(r"[a-z]{4,}")
_NO = re.compile(r"\b(?:no|not|never|cannot|nothing|nobody|refuse|decline|unable)\b|n't\b", re.IGNORECASE)
_DEED = re.compile(r"\b(?:done|approved|completed|finished|already)\b", re.IGNORECASE)
_PROMISE = re.compile(r"\b(?:will|shall|going to|later|soon|today|tomorrow)\b|'ll\b", re.IGNORECASE)
_FEW_WORDS = 6


class ColleagueModel:
    """Puts replies into a model's words, and notes its first fault of an episode.

    Args:
        model: see :class:`gem_rollout.simulated_people.model.PersonModel`.
    """

    def __init__(self, model: PersonModel) -> None:
        self._model = model
        self.fault: UserFault | None = None

    def __call__(self, colleague: Row, tool: str, given: Mapping[str, Any], reply: ColleagueReply) -> str:
        """Return a reply in the model's words; in those of the script if the model has a fault."""
        mark = MARKS[reply.outcome]
        prompt = _PROMPT.format(
            name=colleague["name"],
            title=company().roles[colleague["role"]].title,
            meaning=_MEANINGS[reply.outcome],
            text=reply.text,
            mark=mark,
        )
        asked = {name: value for name, value in given.items() if name != "employee_id"}
        request = f"{tool.replace('_', ' ')}: {json.dumps(asked, ensure_ascii=False)}"
        answer = self._model.answered([{"role": "system", "content": prompt}, {"role": "user", "content": request}])
        if isinstance(answer, UserFault):
            self.fault = self.fault or answer
            return reply.text
        text = spoken_text(str(answer.get("content") or "")).strip()
        first, _, rest = text.partition(" ")
        words = rest.strip() if first.strip(".,:;!—-").upper() == mark else text
        fault = reply_fault(words, reply, request)
        if fault is None and words is text:
            fault = UserFault("contradiction", f"the user does not begin with {mark}: {text[:60]!r}")
        self.fault = self.fault or fault
        return words if fault is None else reply.text


def reply_fault(text: str, reply: ColleagueReply, request: str) -> UserFault | None:
    """Return the fault of a text that puts a reply into words, or None.

    Args:
        text: the words, without the mark.
        reply: what they must say.
        request: what they answer.
    """
    foreign = [name for name in office_tools() if name not in reply.text]
    spoken = spoken_fault(
        text, ends=False, message=request, said=(), agent_tools=foreign, script=reply.text, serves=True
    )
    return spoken or next(_faults(text, reply, request), None)


def _faults(text: str, reply: ColleagueReply, request: str) -> Iterator[UserFault]:
    wanted, said = _data(reply.text), _data(text)
    missing = sorted(wanted - said) + sorted({*_NAME.findall(reply.text)} - {*re.findall(r"\w+", text)})
    if missing:
        yield UserFault("withheld", f"the user does not say {missing[0]!r}")
    if new := sorted(said - wanted - _data(request)):
        yield UserFault("invention", f"the user says {new[0]!r}, which the script does not hold")
    words = {*_WORD.findall(reply.text.casefold())}
    if reply.outcome == "known" or len(words) > _FEW_WORDS:
        kept = words & {*_WORD.findall(text.casefold())}
        if 2 * len(kept) < len(words):
            yield UserFault("withheld", f"the user says little of the answer: {text[:60]!r}")
    denies = _NO.search(text) is not None
    if denies is not (_NO.search(reply.text) is not None) and reply.outcome != "known":
        yield UserFault("contradiction", f"the user {'denies' if denies else 'does not deny'} it: {text[:60]!r}")
    if reply.outcome == "promised":
        if _DEED.search(text):
            yield UserFault("claimed deed", f"the user says that it is done: {text[:60]!r}")
        if not _PROMISE.search(text):
            yield UserFault("withheld", f"the user promises nothing: {text[:60]!r}")


def _data(text: str) -> set[str]:
    return {found.strip(".:/-+") for found in _DATA.findall(text)}
