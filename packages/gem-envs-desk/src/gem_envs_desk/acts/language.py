"""Typed speech acts: what an agent can do in a conversation, as tools, and how a desk names its matters.

The agent asks, proposes, tells and says by four tools. A customer answers the act, never its wording, so that no
paraphrase changes an outcome.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from gem.tools import Tool
from gem_envs_desk.store import RefusedCallError

__all__ = [
    "ANYTHING_ELSE",
    "ASK",
    "DATE",
    "DONE",
    "PROPOSE",
    "REFUSED",
    "SAY",
    "SPEECH_ACTS",
    "TELL",
    "DeskActs",
    "FactKind",
    "SpeechAct",
    "canonical",
    "exact_number",
    "plain_words",
    "read_act",
    "speech_tools",
]

ASK, PROPOSE, TELL, SAY = SPEECH_ACTS = ("ask", "propose", "tell", "say")
DATE = r"\d{4}-\d\d-\d\d"
"""The form of a fact that is a date."""
ANYTHING_ELSE = "anything else"
"""The topic that asks for further wishes."""
DONE, REFUSED = "done", "refused"
"""What can be told beside the facts of a desk: the name of a call that has been made, and why a wish is refused."""

_EURO = r"\s*(?:€|euros?|eur)?\s*"
_NUMBER = re.compile(rf"{_EURO}([-−]?(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?){_EURO}", re.IGNORECASE)
_LONGEST_NUMBER = 40
"""Characters of a text that is a number."""
_LEADING_ZERO = re.compile(r"[-−]?0\d")


class FactKind(NamedTuple):
    """A kind of fact that customers of a desk are told."""

    wants: Literal["amount", "time", "answer"]
    """What it is to a customer who wants to be told something, see :class:`gem_envs_desk.task.Wish`."""
    arguments: tuple[str, ...] = ()
    """Arguments of the gold calls whose values are such facts as well, whether the customer asks for them or not."""
    is_public: bool = False
    """Whether it may be told to anybody."""
    form: str = ""
    """A regular expression for the whole value, by which the customer knows an answer from other words; empty if
    ``wants`` says enough."""
    column: tuple[str, str] = ("", "")
    """The table and the column where such facts stand, if they need no reckoning. What is so of the customer's rows, or
    of those that are nobody's, may be told to who does not ask for it."""
    named: tuple[float, ...] = ()
    """The facts of this kind that the policy names, which may be told likewise."""


@dataclass(frozen=True)
class DeskActs:
    """How a desk names its matters."""

    writes: tuple[str, ...]
    """The agent's tools that change something."""
    topics: tuple[str, ...]
    """What can be asked for: names of slots."""
    facts: Mapping[str, FactKind]
    """What can be told, by name."""
    grounds: tuple[str, ...]
    """Why the policy refuses a wish."""
    unknown: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Tool → the arguments of a proposal that a customer must believe, such as amounts."""
    lookups: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Argument → the table and the column that hold what a customer knows of it: the day of a flight."""


class SpeechAct(NamedTuple):
    """One act: its kind, what it is about, and its content."""

    kind: str
    name: str = ""
    """The topic, the action or the fact."""
    value: Any = None
    """The arguments of the action, the value of the fact or the text."""


class _ActTool(Tool):
    """The schema of an act; the environment carries it out."""

    def __init__(self, name: str, description: str, **properties: Mapping[str, Any]) -> None:
        self.name, self.description = name, description
        self.parameters = {"type": "object", "properties": properties, "required": list(properties)}


def speech_tools(acts: DeskActs, actions: Sequence[str]) -> dict[str, Tool]:
    """Return the four tools of a desk by name.

    Args:
        acts: the desk's names.
        actions: the tools that can be proposed, the agent's and the customer's.
    """
    tools = (
        _ActTool(
            ASK,
            f"Ask the customer for something that they know, or for further wishes ({ANYTHING_ELSE!r}) when a wish is "
            "settled.",
            what={"type": "string", "enum": [*acts.topics, ANYTHING_ELSE]},
        ),
        _ActTool(
            PROPOSE,
            "Tell the customer what you are about to do, or what you want them to do, and ask for a yes. Name the call "
            "with all its arguments. Customers use tools of their own at once, and say what they see.",
            action={"type": "string", "enum": list(actions)},
            arguments={"type": "object", "description": "the arguments of the call"},
        ),
        _ActTool(
            TELL,
            f"Tell the customer something. {DONE!r}: the value is the name of the call that you have made. "
            f"{REFUSED!r}: you refuse the present wish; the value is the reason, one of "
            f"{', '.join(map(repr, acts.grounds))}. Other facts: their value alone, amounts as numbers.",
            fact={"type": "string", "enum": [*acts.facts, DONE, REFUSED]},
            value={"type": ["string", "number"]},
        ),
        _ActTool(
            SAY,
            "Say anything else. Customers listen, but answer only what you ask, propose and tell.",
            text={"type": "string"},
        ),
    )
    return {tool.name: tool for tool in tools}


def read_act(kind: str, arguments: Mapping[str, Any]) -> SpeechAct:
    """Return the act of a call.

    Raises:
        RefusedCallError: if the arguments are not those of the act.
    """
    first, second = {ASK: ("what", ""), PROPOSE: ("action", "arguments"), TELL: ("fact", "value"), SAY: ("", "text")}[
        kind
    ]
    names = [name for name in (first, second) if name]
    if set(arguments) != set(names):
        raise RefusedCallError(f"{kind} takes {' and '.join(names)}, got {', '.join(map(str, arguments)) or 'nothing'}")
    name, value = arguments.get(first, ""), arguments.get(second)
    if not isinstance(name, str):
        raise RefusedCallError(f"{first} of {kind} must be a text, got {name!r:.60}")
    if kind == PROPOSE and not isinstance(value, Mapping):
        raise RefusedCallError(f"arguments of {kind} must be an object, got {value!r:.60}")
    if kind == TELL and (isinstance(value, bool) or not isinstance(value, (str, int, float))):
        raise RefusedCallError(f"value of {kind} must be a text or a number, got {value!r:.60}")
    if kind == SAY and not isinstance(value, str):
        raise RefusedCallError(f"text of {kind} must be a text, got {value!r:.60}")
    return SpeechAct(kind, name, dict(value) if isinstance(value, Mapping) else value)


def plain_words(name: str) -> str:
    """Return a name without case, blanks and marks: ``"E-mail"`` and ``"email"`` are one."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def exact_number(value: object) -> Decimal | None:
    """Return the number that a value is, or that a text consists of; else None. Euros may be named, other units not."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    text = str(value)
    found = _NUMBER.fullmatch(text) if len(text) <= _LONGEST_NUMBER else None
    return Decimal(found[1].replace(",", "").replace("−", "-")) if found else None


def canonical(value: object) -> object:
    """Return a value by which two of one meaning are equal: ``25``, ``25.0`` and ``"25"``, texts whatever their case.

    A text of digits that begins with 0 is a code, not a number.
    """
    if isinstance(value, Mapping):
        return tuple(sorted((str(name), canonical(one)) for name, one in value.items()))
    if isinstance(value, str) and _LEADING_ZERO.match(value.strip()):
        return value.strip()
    number = exact_number(value)
    if number is not None:
        return str(number.quantize(Decimal("0.000001"))) if abs(number) < 10**15 else str(number)
    return " ".join(value.split()).casefold() if isinstance(value, str) else repr(value)
