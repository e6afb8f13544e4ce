"""Finding the edit of a list of messages or content parts; :mod:`gem_rollout.trajectory.edits` describes its form.

History wrappers hand out a new list at every turn, with the messages of the last one in it. So a comparison of two
lists first compares the identities of their items, which CPython does at some nanoseconds an item. Items that are not
the same objects, as they come from another process, are compared by value.
"""

from __future__ import annotations

from operator import indexOf
from typing import Any, NamedTuple

from gem.errors import TrajectoryError
from gem_rollout.trajectory.common_ranges import common_items
from gem_rollout.trajectory.edits import Edit, action_message, action_text, same_json
from gem_rollout.trajectory.json_values import json_value
from gem_rollout.trajectory.text_edits import MIN_LENGTH, text_edit

__all__ = ["Items", "list_edit", "value_edit"]

_AHEAD = 256
"""Items of the earlier list among which an item of the new one is looked for."""

_TEXT = {str}

_LONG = 64
"""Characters from which a text is worth an edit."""


class Items(NamedTuple):
    """A list as it was handed out, and as JSON holds it."""

    given: list[Any]
    """A copy of the list, with the items themselves."""
    plain: list[Any]
    """The items as JSON values, which share nothing with those given."""
    loose: list[int]
    """Indices of the items for which ``==`` is not enough to be the same in JSON, as there are numbers in them."""


def value_edit(new: Any, old: Any, action: Any, depth: int = 0) -> Edit:
    """Return a JSON value as an edit of another one; at a depth of two lists, anything but text counts as new."""
    if isinstance(new, str):
        pieces = text_edit(old if isinstance(old, str) else "", new, action_text(action))
        return {"value": new} if pieces is None else {"text": pieces}
    if isinstance(new, list) and depth < 2:
        known = old if isinstance(old, list) else []
        loose = [i for i, item in enumerate(known) if _is_loose(item)]
        return list_edit(new, Items(known, known, loose), action, "", depth + 1)[0]
    return {"value": new}


def list_edit(new: list[Any], old: Items, action: Any, name: str, depth: int = 0) -> tuple[Edit, Items]:
    """Return a list as an edit of an earlier one, and the list itself for the next edit.

    Args:
        new: the list.
        old: the earlier list; without items if there is none.
        action: the action between the two.
        name: what the list is, for messages.
        depth: the number of lists around this one.

    Raises:
        TrajectoryError: if JSON cannot hold it.
    """
    given = list(new)
    continued = _continuation(given, old, action)
    if continued is not None:
        return continued
    search = _Search(given, old, action, name, depth)
    search.run()
    edit: Edit = {"list": search.pieces} if search.saves else {"value": search.plain}
    return edit, Items(given, search.plain, search.loose)


def _continuation(given: list[Any], old: Items, action: Any) -> tuple[Edit, Items] | None:
    """Return what a search would find where the list is the earlier one, the action and new messages of short text.

    None in all other cases. Nearly every turn of a chat looks like this, and the search takes five times the time.
    """
    known, plain = old.given, old.plain
    count = len(known)
    if not 0 < count < len(given) or old.loose or type(action) is not str:
        return None
    try:
        if (
            given[count] != {"role": "assistant", "content": action}
            or given[:count] != known  # which looks at identities first
            or given[0] != plain[0]  # these may have been changed in place, as in the search
            or given[max(0, count - 2) : count] != plain[-2:]
        ):
            return None
    except Exception:  # values that refuse to be compared
        return None
    items = [{"role": "assistant", "content": action}]
    for item in given[count + 1 :]:
        if type(item) is not dict or set(map(type, item)) != _TEXT or set(map(type, item.values())) != _TEXT:
            return None
        if item.get("role") == "assistant" or any(len(text) >= MIN_LENGTH for text in item.values()):
            return None
        items.append(item.copy())
    pieces: list[Any] = [[0, count], ["action"]]
    if len(items) > 1:
        pieces.append({"items": items[1:]})
    return {"list": pieces}, Items(given, plain + items, [])


class _Search:
    def __init__(self, given: list[Any], old: Items, action: Any, name: str, depth: int) -> None:
        self.given, self.old, self.action, self.name, self.depth = given, old, action, name, depth
        self.plain: list[Any] = []
        self.loose: list[int] = []
        self.pieces: list[Any] = []
        self.saves = False
        self._old_from = 0
        self._message: Any = None
        """The action as an assistant message, made when an item may be it."""

    def run(self) -> None:
        while len(self.plain) < len(self.given):
            start = self._find(self.given[len(self.plain)])
            length = 0 if start is None else self._same_from(start)
            if start is not None and length:
                self._copy(start, length)
            else:
                self._add(json_value(self.given[len(self.plain)], f"{self.name}[{len(self.plain)}]"))

    def _find(self, item: Any) -> int | None:
        known, first = self.old.given, self._old_from
        if first >= len(known):
            return None
        if known[first] is item:
            return first
        try:
            # Not list.index, whose error has the whole item in it.
            return first + indexOf(known[first : first + _AHEAD], item)
        except Exception:  # not there, or values that refuse to be compared
            return None

    def _same_from(self, start: int) -> int:
        """Return how many items from here on are those of the earlier list from ``start`` on."""
        given, old, done = self.given, self.old, len(self.plain)
        try:
            length = common_items(given, done, old.given, start)
        except Exception:  # as above
            return 0
        # The first and last ones are also compared with their copies, in case that they were changed in place.
        doubtful = {start, start + length - 2, start + length - 1, *old.loose}
        for index in sorted(doubtful):
            if start <= index < start + length:
                item, plain = given[done + index - start], old.plain[index]
                # Without numbers, == tells all that JSON does.
                if (index in old.loose or item != plain) and not _is_still(item, plain):
                    return index - start
        return length

    def _copy(self, start: int, length: int) -> None:
        shift = len(self.plain) - start
        self.loose += [index + shift for index in self.old.loose if start <= index < start + length]
        self.plain += self.old.plain[start : start + length]
        self.pieces.append([start, start + length])
        self._old_from = start + length
        self.saves = True

    def _add(self, item: Any) -> None:
        if _is_loose(item):
            self.loose.append(len(self.plain))
        self.plain.append(item)
        piece = self._changed(item)
        if piece is not None:
            self.pieces.append(piece)
            self.saves = True
        elif self.pieces and isinstance(self.pieces[-1], dict) and "items" in self.pieces[-1]:
            self.pieces[-1]["items"].append(item)
        else:
            self.pieces.append({"items": [item]})

    def _changed(self, item: Any) -> Any:
        """Return a new item as the action, or as changes to another one; None if it is like nothing known."""
        if not isinstance(item, dict):
            return None
        if item.get("role") == "assistant" and self.action is not None:
            if self._message is None:
                self._message = action_message(self.action)
            message = self._message
            if message is not None:
                if same_json(item, message):
                    return ["action"]
                fields = self._fields(item, message)
                if fields is not None:
                    return {"of": "action", "fields": fields}
        if self._old_from < len(self.old.plain):
            fields = self._fields(item, self.old.plain[self._old_from])
            if fields is not None:
                self._old_from += 1
                return {"of": self._old_from - 1, "fields": fields}
        if not action_text(self.action):
            return None  # against nothing, only ranges of the action save anything
        fields = self._fields(item, dict.fromkeys(item))
        return None if fields is None else {"fields": fields}

    def _fields(self, item: dict[str, Any], base: Any) -> dict[str, Edit] | None:
        """Return the fields of an item that differ from ``base``; None if that is not shorter than the item."""
        if not isinstance(base, dict) or list(base) != list(item):
            return None
        fields, saves = {}, False
        for key, value in item.items():
            if value is not None and same_json(value, base[key]):
                saves = saves or not isinstance(value, str) or len(value) >= _LONG
                continue
            fields[key] = value_edit(value, base[key], self.action, self.depth)
            saves = saves or "value" not in fields[key]
        return fields if saves else None


def _is_still(given: Any, plain: Any) -> bool:
    try:
        return same_json(given, plain) or same_json(json_value(given), plain)
    except TrajectoryError:
        return False


def _is_loose(item: Any) -> bool:
    """Return whether a JSON value has a number or boolean in it."""
    if isinstance(item, dict):
        return set(map(type, item.values())) != _TEXT and any(map(_is_loose, item.values()))
    if isinstance(item, list):
        return any(map(_is_loose, item))
    return not (item is None or isinstance(item, str))
