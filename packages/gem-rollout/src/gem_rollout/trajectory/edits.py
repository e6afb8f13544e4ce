"""A value as an edit of an earlier value, on file and in memory.

Observations and prompts repeat most of the ones before. An edit is a JSON object with one key:

- ``{"value": …}``: the value itself;
- ``{"text": […]}``: a text, as :mod:`gem_rollout.trajectory.text_edits` describes;
- ``{"list": […]}``: a list, in these pieces: ``[start, end]``: these items of the earlier list; ``["action"]``: the
  action as an assistant message; ``["action", start, end]``: these items of an action that is a list (sampled token
  ids); ``{"items": […]}``: new items; ``{"of": i, "fields": {…}}``: item ``i`` of the earlier list, or with
  ``"of": "action"`` the action's message, in which some fields are changed by edits.

An edit of nothing, as for the first observation, is ``{"value": …}``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gem.errors import TrajectoryError
from gem_rollout.trajectory.text_edits import MAX_LENGTH, apply_text_edit

__all__ = ["Edit", "action_message", "action_text", "apply_edit", "same_json"]

Edit = dict[str, Any]

_EXACT = {str, int}
"""Types of which no two values are equal and not the same in JSON."""


def action_text(action: Any) -> str:
    """Return the text of an action that edits refer to.

    Of an assistant message these are its reasoning, its text, and the arguments of its native calls, without anything
    between them: history wrappers show each of them verbatim, or as JSON.
    """
    if isinstance(action, str):
        return action
    if not isinstance(action, dict):
        return ""
    texts = [action.get("reasoning_content")]
    content = action.get("content")
    texts += (
        [part.get("text") for part in content if isinstance(part, dict)] if isinstance(content, list) else [content]
    )
    calls = action.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            arguments = function.get("arguments")
            texts.append(arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False))
    return "".join(text for text in texts if isinstance(text, str))


def action_message(action: Any) -> Any:
    """Return an action as the assistant message that edits refer to; None if it is neither text nor a message."""
    if isinstance(action, str):
        return {"role": "assistant", "content": action}
    return {**action, "role": "assistant"} if isinstance(action, dict) else None


def apply_edit(edit: Any, old: Any, action: Any) -> Any:
    """Return the value that an edit describes. It may share items with ``old`` and ``action``.

    Raises:
        TrajectoryError: if it is no edit of ``old``.
    """
    try:
        ((kind, pieces),) = edit.items()
        if kind == "value":
            return pieces
        if kind == "text":
            return apply_text_edit(pieces, old if isinstance(old, str) else "", action_text(action))
        if kind == "list":
            return _apply_list_edit(pieces, old if isinstance(old, list) else [], action)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, TrajectoryError):
            raise
    raise TrajectoryError(f"not an edit of the value before: {edit!r:.200}")


def _apply_list_edit(pieces: list[Any], old: list[Any], action: Any) -> list[Any]:
    items: list[Any] = []
    for piece in pieces:
        if isinstance(piece, dict):
            items += piece["items"] if "items" in piece else [_changed_item(piece, old, action)]
        elif piece == ["action"]:
            items.append(action_message(action))
        else:
            source, start, end = (action, *piece[1:]) if piece[0] == "action" else (old, *piece)
            if not 0 <= start <= end <= len(source):
                raise TrajectoryError(f"{piece} is no range of a list of {len(source)} items")
            items += source[start:end]
        if len(items) > MAX_LENGTH:
            raise TrajectoryError(f"an edit produces more than {MAX_LENGTH} items")
    return items


def _changed_item(piece: Mapping[str, Any], old: list[Any], action: Any) -> dict[str, Any]:
    of = piece.get("of")
    base = {} if of is None else action_message(action) if of == "action" else old[of]
    return {**base, **{key: apply_edit(edit, base.get(key), action) for key, edit in piece["fields"].items()}}


def same_json(one: Any, other: Any) -> bool:
    """Return whether two JSON values are the same, where ``==`` also equates 1, 1.0 and True, and 0.0 and -0.0."""
    if one is other:
        return True
    kind = type(one)
    if kind is not type(other):
        return False
    if kind is dict:
        if one.keys() != other.keys():
            return False
        if set(map(type, one.values())) <= _EXACT:
            return bool(one == other) and set(map(type, other.values())) <= _EXACT
        # Not all(… for …), which would take two levels of the interpreter's stack for each of the value's.
        return all(map(same_json, one.values(), map(other.__getitem__, one)))
    if kind is list:
        kinds = set(map(type, one))
        if kinds <= _EXACT:  # tokens and texts, of which there may be many
            return bool(one == other) and kinds == set(map(type, other))
        return len(one) == len(other) and all(map(same_json, one, other))
    return bool(repr(one) == repr(other) if kind is float else one == other)
