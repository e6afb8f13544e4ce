"""What a model must not do while it plays a user, as far as its words alone show it: :func:`spoken_fault`.

A user who invents data, gives the solution away or leaves at once makes an episode that no agent could solve, or that
every agent solves. Such an episode is masked in training, not punished; ERPO leaves them out of the baseline. The
faults against the script are found by :mod:`gem_envs_desk.users.checker`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gem_rollout.simulated_people.sentences import is_foreign, sentences_of

__all__ = ["FAULTS", "LONGEST_REPLY", "UserFault", "spoken_fault"]

LONGEST_REPLY = 2000
"""Characters."""
FAULTS = {
    "no answer": "the server of the model does not answer",
    "endless calls": "it does not stop calling tools",
    "silence": "it says nothing",
    "too long": "it talks for too long",
    "repetition": "it says the same again and again",
    "echo": "it says what the agent has just said",
    "other language": "it does not speak the language of the script",
    "agent's part": "it talks as the agent or as a language model does",
    "prompt": "it speaks of its prompt, or in marks of a chat template",
    "agent's tool": "it names or calls a tool of the agent's",
    "solution": "it tells a fact that the agent has yet to find",
    "invention": "it states data that the script does not hold",
    "contradiction": "it states something else than the script",
    "withheld": "it does not say what the script says at this place",
    "unasked": "it tells what nobody has asked for",
    "early wish": "it raises a wish before the last one is settled",
    "early change": "it changes its mind before anything is proposed",
    "false yes": "it says yes to what the script denies",
    "unasked deed": "it uses a tool of its own that nobody has asked for",
    "claimed deed": "it says that it has done what it has not",
    "early end": "it leaves before everything is settled",
}
"""Kind of fault → what it is."""

_MOST_REPEATED = 5
"""Replies in a row that may be the same."""
_FEWEST_BABBLED, _BABBLES = 20, 3
"""Words of a reply in which each occurs so often, on average, that it says nothing."""
_SHORTEST_ECHO = 60
"""Characters."""
_AGENTS_PART = re.compile(
    r"\bhow (?:can|may|could) i (?:help|assist)\b|"
    r"\b(?:i|we)(?:'ve|'ll|'m|'re| have| will| can| could| am| are)\b[^.?!]{0,50}\byour (?:order|booking|refund|"
    r"request|account|line|flight|reservation|case|identity|details)\b|\b(?:can|could|may) i have your\b|"
    r"\bplease (?:provide|confirm|share) your\b|\bthank you for (?:contacting|calling|reaching)\b|"
    r"\banything else (?:that )?(?:i|we) can\b|\bi(?:'m| am) (?:unable|not able) to (?:do|help|assist|access|provide|"
    r"process|send|share)\b",
    re.IGNORECASE,
)
_LANGUAGE_MODEL = re.compile(r"\b(?:as an? (?:ai|language model|assistant)|i am an ai|i'm an ai)\b", re.IGNORECASE)
_DATA = re.compile(r"\S*[@\d]\S*")
"""Codes, dates and addresses, which have no language."""
_PROMPT = re.compile(
    r"<\||<tool_call|</?think|\[INST|###|\b(?:system prompt|my (?:script|instructions|prompt)|the script says|"
    r"role-?play(?:ing)?|what you (?:want, one|know; say)|you play a customer|one short message)\b",
    re.IGNORECASE,
)


class UserFault(NamedTuple):
    """Why a user, not the agent, has spoiled an episode."""

    kind: str
    """One of :data:`FAULTS`."""
    reason: str
    """A clause that begins with "the user"."""


def spoken_fault(
    text: str,
    *,
    ends: bool,
    message: str,
    said: Sequence[str],
    agent_tools: Iterable[str],
    script: str = "",
    serves: bool = False,
) -> UserFault | None:
    """Return the fault that a reply has whatever the script.

    Args:
        text: the reply, without calls and without the mark of the end.
        ends: whether the user ends the conversation with it.
        message: the agent's message.
        said: the user's replies before.
        agent_tools: the names of the agent's tools.
        script: the user's own words, which may imitate the marks of a chat template.
        serves: whether the user is asked for a service, as a colleague is, and may speak as one who gives it.
    """
    if not text.strip():
        return None if ends else UserFault("silence", "the user says nothing")
    if len(text) > LONGEST_REPLY:
        return UserFault("too long", f"the user talks for more than {LONGEST_REPLY} characters")
    if list(said[-_MOST_REPEATED:]) == [text] * _MOST_REPEATED:
        return UserFault("repetition", f"the user says the same {_MOST_REPEATED + 1} times")
    words = text.casefold().split()
    if len(words) >= _FEWEST_BABBLED and len({*words}) * _BABBLES < len(words):
        return UserFault("repetition", f"the user babbles: {text[:60]!r}")
    if (marks := _PROMPT.search(text)) and marks[0] not in script:
        return UserFault("prompt", f"the user speaks of the prompt: {marks[0]!r}")
    named = next((tool for tool in agent_tools if "_" in tool and tool in text), None)
    if named is not None:
        return UserFault("agent's tool", f"the user names the agent's tool {named}")
    if _echoes(text, message):
        return UserFault("echo", f"the user repeats the agent: {text[:60]!r}")
    if part := _LANGUAGE_MODEL.search(text) or (None if serves else _AGENTS_PART.search(text)):
        return UserFault("agent's part", f"the user talks as the agent: {part[0]!r}")
    if is_foreign(sentences_of(_DATA.sub(" ", text))):
        return UserFault("other language", f"the user does not speak English: {text[:60]!r}")
    return None


def _echoes(text: str, message: str) -> bool:
    """Return whether a reply consists of the agent's words, or has a long piece of them."""
    said, heard = (" ".join(one.casefold().split()) for one in (text, message))
    if len(said) < _SHORTEST_ECHO:
        return said == heard and len(said.split()) > 2
    return any(said[start : start + _SHORTEST_ECHO] in heard for start in range(0, len(said) - _SHORTEST_ECHO + 1, 10))
