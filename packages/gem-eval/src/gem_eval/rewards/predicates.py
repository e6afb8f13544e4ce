"""Checks that need no judge: the items of a checklist and the rules of a process reward."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from gem.arguments import check_names, integer
from gem.entry_points import load
from gem.errors import ArgumentError
from gem.text import action_text
from gem_questions.rewards.answers import final_text
from gem_rollout.trajectory import Trajectory

__all__ = ["PREDICATES", "Predicate", "check_item", "predicate_of"]

Predicate = Callable[[Trajectory], bool]

PREDICATES = (
    "contains", "lacks", "matches", "any_action_matches", "info", "success", "max_turns", "uses_tool", "legal",
    "no_errors", "function",
)  # fmt: skip
"""The keys of an item of which each makes a predicate."""


def predicate_of(item: Mapping[str, Any]) -> Predicate:
    """Return the predicate of an item with exactly one of these keys.

    =======================  =======================================================================================
    ``contains``, ``lacks``  the agent's last text has, or has not, this text in any case
    ``matches``              its last text matches this regular expression somewhere
    ``any_action_matches``   the text of any of its actions does
    ``info``                 the last info has this key with a true value, or the value of ``equals``
    ``success``              the environment's own success is this bool
    ``max_turns``            the episode has no more turns
    ``uses_tool``            a tool of this name was called
    ``legal``                true: no action was illegal or malformed
    ``no_errors``            true: no tool call failed
    ``function``             ``"module:function"``, called with the trajectory
    =======================  =======================================================================================

    Raises:
        ArgumentError: if there is none or more than one, or its value is wrong.
    """
    given = [name for name in PREDICATES if name in item]
    if len(given) != 1:
        raise ArgumentError(f"an item needs exactly one of {', '.join(PREDICATES)}, got {', '.join(given) or 'none'}")
    name, value = given[0], item[given[0]]
    if name == "function":
        return _function(value)
    if name in ("contains", "lacks"):
        text, wanted = str(value).casefold(), name == "contains"
        return lambda trajectory: (text in final_text(trajectory).casefold()) == wanted
    if name in ("matches", "any_action_matches"):
        return _matching(value, every_action=name == "any_action_matches")
    if name == "info":
        return lambda trajectory: _in_info(trajectory, str(value), item)
    if name == "max_turns":
        most = integer("max_turns", value, minimum=0)
        return lambda trajectory: len(trajectory) <= most
    if name == "uses_tool":
        return lambda trajectory: str(value) in _tools_of(trajectory)
    if not isinstance(value, bool):
        raise ArgumentError(f"{name} must be true or false, got {value!r:.60}")
    if name == "success":
        return lambda trajectory: trajectory.success is value
    return lambda trajectory: _clean(trajectory, name) is value


def _function(value: Any) -> Predicate:
    function = load(value)
    if not callable(function):
        raise ArgumentError(f"function must be 'module:function', got {value!r:.60}")
    return lambda trajectory: bool(function(trajectory))


def _matching(value: Any, *, every_action: bool) -> Predicate:
    try:
        pattern = re.compile(str(value))
    except re.error as error:
        raise ArgumentError(f"{value!r:.60} is not a regular expression: {error}") from error
    if not every_action:
        return lambda trajectory: pattern.search(final_text(trajectory)) is not None
    return lambda trajectory: any(pattern.search(action_text(t.action) or "") for t in trajectory.transitions)


def _in_info(trajectory: Trajectory, key: str, item: Mapping[str, Any]) -> bool:
    value = (trajectory.transitions[-1].info if trajectory.transitions else {}).get(key)
    return bool(value == item["equals"]) if "equals" in item else bool(value)


def _tools_of(trajectory: Trajectory) -> set[str]:
    names = {str(t.info.get("tool_name")) for t in trajectory.transitions if t.info.get("tool_name")}
    for transition in trajectory.transitions:
        results = transition.info.get("tool_results")
        for call in [*transition.tool_calls, *(results if isinstance(results, list) else [])]:
            if isinstance(call, Mapping):
                function = call.get("function")
                names.add(str(function.get("name") if isinstance(function, Mapping) else call.get("name", "")))
    return names - {"", "None"}


def _clean(trajectory: Trajectory, name: str) -> bool:
    if name == "legal":
        return not any(t.info.get("action_status") in ("illegal", "malformed") for t in trajectory.transitions)
    return not any(t.info.get("tool_error") for t in trajectory.transitions)


def check_item(item: Mapping[str, Any], *more: str) -> None:
    """Raise UnknownArgumentError for a key of an item that has no meaning."""
    check_names("an item", item, (*PREDICATES, "equals", *more))
