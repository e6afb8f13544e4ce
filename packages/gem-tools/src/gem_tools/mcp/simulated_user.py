"""The user whom servers may ask (elicitation): a table, a function or a policy answers in place of a person."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gem.errors import ArgumentTypeError
from gem.policies import Act, Policy
from gem.text import action_text, spoken_text
from gem.tools import FromEpisode
from gem_tools.mcp.declared_source import DeclaredSource, awaited, is_acting
from gem_tools.mcp.schema_check import mismatch
from gem_tools.text_limits import cut

__all__ = ["Answers", "Elicitation", "ElicitedUser", "check_source"]

_LONGEST_QUESTION = 20_000
"""The number of characters of a question, and of the schema of its form, that a policy sees."""

_IN_A_FORM = (str, int, float, bool, type(None))
"""The values of a form in the protocol, besides lists of strings."""


@dataclass(frozen=True)
class Elicitation:
    """What a server asks its user."""

    server: str
    message: str
    schema: Mapping[str, Any] | None
    """The JSON schema of the form to fill in; None if the user is asked to visit an address."""
    url: str | None = None

    def as_text(self) -> str:
        """Return the question as the observation of a policy."""
        wanted = (
            f"It asks you to visit {self.url}"
            if self.schema is None
            else f"Answer with a JSON object that fits this schema: {json.dumps(self.schema, ensure_ascii=False)}"
        )
        return (
            f"{self.server} asks you: {cut(self.message, _LONGEST_QUESTION)}\n{cut(wanted, _LONGEST_QUESTION)}\n"
            'If you do not want to answer, write "decline".'
        )


Answers = Mapping[str, Any] | Callable[[Elicitation], Any] | Policy[Any, Any] | FromEpisode
"""What answers the questions of servers.

* A table: the name of a field → its value, or the text of a question → the mapping of its fields. A form of which a
  required field has no value that fits is declined; a field without a value gets the form's default.
* A function, sync or async, of a :class:`Elicitation`: returns the mapping of the fields, or None to decline. For an
  address, any mapping agrees to visit it, which nobody does.
* A policy with ``act``: reads the question as a text, and answers with a JSON object, or declines.
* ``FromEpisode(name)``: one of these that the environment offers in its ``episode_values`` (``user`` by default).
"""


def check_source(source: object) -> None:
    """Check what answers questions.

    Raises:
        ArgumentTypeError: if it is of another kind.
    """
    if isinstance(source, (Mapping, FromEpisode)) or callable(source) or is_acting(source):
        return
    raise ArgumentTypeError(
        "user must be a table of answers, a function of a question, a policy with act, or FromEpisode, got "
        f"{type(source).__name__}"
    )


class ElicitedUser(DeclaredSource):
    """Answers the questions of servers in one environment.

    Args:
        source: what answers; see :data:`Answers`.
    """

    role = "user"

    def __init__(self, source: Answers) -> None:
        super().__init__(source, check_source)
        self._has_begun = False

    def begin(self, values: Mapping[str, Any]) -> None:
        self._has_begun = False
        super().begin(values)

    def answer(self, question: Elicitation) -> Mapping[str, Any] | None:
        """Return the fields of the form, or None to decline; may take as long as the source does.

        Raises:
            ArgumentTypeError: if a function returns something else, or what does not fit the form.
            Exception: what the source raises.
        """
        source = self._current
        if isinstance(source, Mapping):
            return _from_table(source, question)
        if isinstance(source, Policy):
            return self._from_policy(source, question)
        if source is None:
            return None
        reply = awaited(source(question))
        if reply is None:
            return None
        if not isinstance(reply, Mapping):
            raise ArgumentTypeError(f"a user answers with a mapping of fields or None, got {type(reply).__name__}")
        wrong = _unfit(reply, question)
        if wrong is not None:
            raise ArgumentTypeError(f"the answer of the user to {question.message[:200]!r} does not fit: {wrong}")
        return reply

    def _from_policy(self, policy: Policy[Any, Any], question: Elicitation) -> Mapping[str, Any] | None:
        observation = question.as_text()
        if not self._has_begun:
            awaited(policy.reset(observation, {}))
            self._has_begun = True
        action = awaited(policy.act(observation, {}))
        text = action_text(action.action if isinstance(action, Act) else action)
        return None if text is None else _last_fitting(spoken_text(text), question)


def _from_table(table: Mapping[str, Any], question: Elicitation) -> Mapping[str, Any] | None:
    properties = {} if question.schema is None else question.schema.get("properties")
    if question.message in table:
        found = table[question.message]
    elif question.schema is None or not isinstance(properties, Mapping):
        return None
    else:
        defaults = {name: about["default"] for name, about in properties.items() if "default" in _mapping(about)}
        found = {**defaults, **{name: table[name] for name in properties if name in table}}
    return found if isinstance(found, Mapping) and _unfit(found, question) is None else None


def _last_fitting(text: str, question: Elicitation) -> Mapping[str, Any] | None:
    """Return the last JSON object in a text that fits the form."""
    decoder = json.JSONDecoder()
    found: Mapping[str, Any] | None = None
    place = text.find("{")
    while place >= 0:
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            end = place + 1
        else:
            if _unfit(value, question) is None:
                found = value
        place = text.find("{", end)
    return found


def _unfit(fields: Mapping[str, Any], question: Elicitation) -> str | None:
    """Return why an answer is none to a question; None if it is one."""
    for name, value in fields.items():
        if not isinstance(name, str) or not (isinstance(value, _IN_A_FORM) or _is_list_of_text(value)):
            return (
                f"the field {name!r:.80} must be a text, a number, a bool, null or a list of texts, got {value!r:.80}"
            )
    return None if question.schema is None else mismatch(dict(question.schema), dict(fields))


def _is_list_of_text(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
