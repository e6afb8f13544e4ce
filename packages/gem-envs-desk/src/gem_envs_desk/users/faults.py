"""What a model must not say while it plays a user: :func:`fault_in`.

A user who invents data, gives the solution away or leaves at once makes an episode that no agent could solve, or that
every agent solves. Such an episode is masked in training, not punished; ERPO leaves them out of the baseline.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gem_envs_desk.facts import shows
from gem_envs_desk.task import DeskTask

__all__ = ["LONGEST_REPLY", "fault_in"]

LONGEST_REPLY = 2000
"""Characters."""
_MOST_REPEATED = 5
"""Replies in a row that may be the same."""
_CODE = re.compile(r"(?<![\w-])(?:[A-Z]{0,4}\d[\d-]*\d{2,}|[\w.+-]+@[\w-]+\.\w[\w.-]*\w)(?![\w-])")
"""Something like an order number, a booking code, a zip code or an e-mail address."""


def fault_in(
    text: str,
    *,
    ends: bool,
    task: DeskTask,
    tools: Iterable[str],
    known: str,
    told: Sequence[bool],
    said: Sequence[str],
) -> str:
    """Return the reason why a reply of the user spoils the episode, or "".

    Args:
        text: the reply, without calls.
        ends: whether the user ends the conversation with it.
        task: the task.
        tools: the names of the agent's tools.
        known: the script and all that has been said so far.
        told: whether the agent has told each fact of the task.
        said: the user's replies so far.
    """
    if not text.strip() and not ends:
        return "the user says nothing"
    if len(text) > LONGEST_REPLY:
        return f"the user talks for more than {LONGEST_REPLY} characters"
    if ends and not said:
        return "the user leaves at the first answer"
    if text and list(said[-_MOST_REPEATED:]) == [text] * _MOST_REPEATED:
        return f"the user says the same {_MOST_REPEATED + 1} times"
    named = next((tool for tool in tools if "_" in tool and tool in text), None)
    if named is not None:
        return f"the user names the agent's tool {named}"
    for fact, is_told in zip(task.facts, told, strict=True):
        if not is_told and shows(text, fact.value) and not shows(known, fact.value):
            return f"the user knows {fact.value!r}, which the agent has yet to find"
    invented = next((code for code in _CODE.findall(text) if code not in known), None)
    return "" if invented is None else f"the user invents {invented[:60]!r}"
