"""Filters of tasks, such as ``difficulty=easy and tag:git``: :func:`matching`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from gem.arguments import nearest
from gem.errors import ArgumentError
from gem_terminal.formats.fields import bytes_of_size
from gem_terminal.task import Task

__all__ = ["matching"]

_TOKEN = re.compile(
    r"(?P<key>[\w.-]+)\s*(?P<operator>!=|<=|>=|[=:<>])\s*(?P<value>\"[^\"]*\"|'[^']*'|[^\s()\"']+)"
    r"|(?P<word>(?i:and|or|not)\b|[()])"
)
_BLANK = re.compile(r"\s*")
_ORDERS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_TAGS = ("tag", "tags", "keyword", "keywords")
_DEEPEST = 50
"""Nested parentheses and negations."""

_Condition = Callable[[Task], bool]


def matching(filter: str, tasks: Sequence[Task]) -> list[Task]:  # noqa: A002  # the name of the argument that users write
    """Return the tasks that a filter accepts, in order.

    A filter has conditions ``key=value``, ``key!=value``, ``key:value`` (the same as ``=``), and ``key<value``,
    ``<=``, ``>``, ``>=`` for numbers, joined by ``and``, ``or``, ``not`` and parentheses. Keys are ``name``,
    ``format``, ``tag``, ``network`` (yes or no), ``solution`` (yes or no), ``seconds``, ``cpus``, ``memory``,
    ``disk``, and all keys of the tasks' metadata. A value is a pattern of the shell without regard to case, and may
    be quoted. A list, such as the tags, matches if one member does. Sizes may be written ``2G``.

    Raises:
        ArgumentError: if the filter is malformed, or no task has one of its keys.
    """
    known = set(_KEYS).union(_TAGS, *(map(str.casefold, task.metadata) for task in tasks))
    accepts = _Parser(filter, known).parse()
    return [task for task in tasks if accepts(task)]


class _Parser:
    """Recursive descent: ``or`` of ``and`` of ``not`` of conditions."""

    def __init__(self, text: str, known: Iterable[str]) -> None:
        self._text = text
        self._known = sorted(known)
        self._tokens = list(self._split())
        self._depth = 0

    def parse(self) -> _Condition:
        condition = self._either()
        if self._tokens:
            raise self._error(f"{self._tokens[0]['word'] or self._tokens[0][0]!r} is not expected there")
        return condition

    def _split(self) -> Iterator[re.Match[str]]:
        position = _BLANK.match(self._text, 0).end()  # type: ignore[union-attr]  # the pattern matches anywhere
        while position < len(self._text):
            token = _TOKEN.match(self._text, position)
            if token is None:
                raise self._error(f"{self._text[position : position + 20]!r} is no condition")
            yield token
            position = _BLANK.match(self._text, token.end()).end()  # type: ignore[union-attr]

    def _take(self, word: str) -> bool:
        found = bool(self._tokens) and (self._tokens[0]["word"] or "").lower() == word
        if found:
            del self._tokens[0]
        return found

    def _either(self) -> _Condition:
        parts = [self._both()]
        while self._take("or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else lambda task: any(part(task) for part in parts)

    def _both(self) -> _Condition:
        parts = [self._one()]
        while self._take("and"):
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else lambda task: all(part(task) for part in parts)

    def _one(self) -> _Condition:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error("it is nested too deeply")
        try:
            if self._take("not"):
                negated = self._one()
                return lambda task: not negated(task)
            if self._take("("):
                inner = self._either()
                if not self._take(")"):
                    raise self._error("a parenthesis is not closed")
                return inner
            return self._condition()
        finally:
            self._depth -= 1

    def _condition(self) -> _Condition:
        if not self._tokens or self._tokens[0]["key"] is None:
            raise self._error("a condition is missing")
        token = self._tokens.pop(0)
        key, compared, value = token["key"].casefold(), token["operator"], token["value"].strip("\"'").casefold()
        if key not in self._known:
            hint = nearest(key, self._known)
            advice = f"did you mean {hint!r}?" if hint else f"the keys are {', '.join(self._known)}"
            raise self._error(f"no task has the key {key!r}; {advice}")
        if compared in _ORDERS:
            limit = _number(value)
            if limit is None:
                raise self._error(f"{value!r} is no number")
            return lambda task: any(
                number is not None and _ORDERS[compared](number, limit) for number in map(_number, _values(task, key))
            )
        wanted = compared != "!="
        return lambda task: any(fnmatchcase(found.casefold(), value) for found in _values(task, key)) is wanted

    def _error(self, why: str) -> ArgumentError:
        return ArgumentError(f"filter: {why} in {self._text[:200]!r}; an example is 'difficulty=easy and tag:git'")


_KEYS: dict[str, Callable[[Task], Any]] = {
    "name": lambda task: [task.name, task.folder.name],
    "format": lambda task: task.format,
    "network": lambda task: task.limits.network,
    "solution": lambda task: task.solution is not None,
    "seconds": lambda task: task.seconds,
    "cpus": lambda task: task.limits.cpus,
    "memory": lambda task: task.limits.memory,
    "disk": lambda task: task.limits.disk,
}


def _values(task: Task, key: str) -> list[str]:
    """Return a task's values of a key as text: none, one, or the members of a list."""
    if key in _TAGS:
        return [text for name in ("tags", "keywords") for text in _texts(task.metadata.get(name))]
    if key in _KEYS:
        return _texts(_KEYS[key](task))
    return [text for name, value in task.metadata.items() if name.casefold() == key for text in _texts(value)]


def _texts(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    return [str(each) for each in value] if isinstance(value, (list, tuple)) else [str(value)]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        try:
            return float(bytes_of_size(text))
        except ValueError:
            return None
