"""The words of tasks: sentences for goals, from templates."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gem_envs_desk.synthesis.store_spec import CREATE, DELETE, RecordType, StoreOperation

__all__ = [
    "WishWords",
    "can_be_said",
    "can_be_told",
    "link_noun",
    "linked",
    "of_write",
    "property_words",
    "value_words",
    "whose",
]

_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_LONGEST = 60


class WishWords(NamedTuple):
    """The words for a change, whole, and in parts for a user who tells values when asked."""

    whole: str
    vague: str
    values: tuple[tuple[str, str], ...]


def property_words(name: str, kind: RecordType) -> str:
    """Return a property's name as words: ``photoUrls`` → ``photo urls``."""
    words = _CAPITAL.sub(" ", name).replace("_", " ").replace("-", " ").lower().strip()
    return words.removeprefix(f"{kind.noun} ") or words


def _named(name: str, kind: RecordType, value: Any) -> str:
    """Return a property's name in front of a value, quoted for a truth value, whose name is often a phrase."""
    words = property_words(name, kind)
    return f'"{words}"' if isinstance(value, bool) else words


def value_words(value: Any) -> str:
    """Return a value as it stands in a sentence."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False)


def can_be_said(value: Any) -> bool:
    """Return whether a value can stand in a description."""
    return not (isinstance(value, str) and (not value.strip() or len(value) > _LONGEST or "\n" in value))


def can_be_told(value: Any) -> bool:
    """Return whether a value can be asked for: a short text or a number, no truth value."""
    return isinstance(value, (str, int, float)) and not isinstance(value, bool) and can_be_said(value)


def whose(kind: RecordType, record: Mapping[str, Any], used: Sequence[str]) -> str:
    """Return a description by properties: ``whose name is "Rex" and whose status is "sold"``."""
    return " and ".join(f"whose {_named(name, kind, record[name])} is {value_words(record[name])}" for name in used)


def linked(field: str, kind: RecordType) -> str:
    """Return the words between a record and the one that a property links to: ``for``, ``whose origin is``."""
    target = kind.links[field].replace("_", " ")
    noun = _link_words(field)
    return "of" if noun == target else f"whose {noun} is"


def link_noun(field: str, target: RecordType) -> str:
    """Return the words for the record that a property links to."""
    return _link_words(field) or target.noun


def of_write(
    operation: StoreOperation,
    kind: RecordType,
    chosen: str | None,
    said: Sequence[tuple[str, Any]],
    targets: Mapping[str, str],
) -> WishWords:
    """Return the words for a call that writes.

    Args:
        operation: the tool.
        kind: the type of its record.
        chosen: the words for the record; None for a new one.
        said: properties and the values that the call gives them.
        targets: argument → the words for the record that it names.
    """
    bound = {argument: operation.bindings[argument].field for argument in targets}
    for_whom = [f"with {words} as its {_link_words(bound[name])}" for name, words in targets.items()]
    if operation.kind == DELETE or (operation.sets and not said):
        return WishWords(f"Please {_verb(operation, kind)} {chosen}.", "", ())
    if operation.kind == CREATE:
        head = " ".join([f"Please {_verb(operation, kind)} a new {kind.noun}", *for_whom])
        given = [f"{_named(name, kind, value)} {value_words(value)}" for name, value in said]
        whole = f"{head}, with {_joined(given)}." if given else f"{head}."
        answers = tuple(
            (
                property_words(name, kind),
                f"The {property_words(name, kind)} of the new {kind.noun} is {value_words(value)}.",
            )
            for name, value in said
        )
        return WishWords(whole, f"{head}." if given else "", _without_twins(answers))
    changes = [f"the {_named(name, kind, value)} to {value_words(value)}" for name, value in said]
    names = [f"the {_named(name, kind, value)}" for name, value in said]
    answers = tuple(
        (property_words(name, kind), f"The new {property_words(name, kind)} should be {value_words(value)}.")
        for name, value in said
    )
    return WishWords(
        f"For {chosen}, please change {_joined(changes)}.",
        f"For {chosen}, please change {_joined(names)}.",
        _without_twins(answers),
    )


def _verb(operation: StoreOperation, kind: RecordType) -> str:
    if operation.kind == CREATE:
        return "add"
    if not operation.sets:
        return "delete"
    words = operation.name.replace("_", " ").replace("-", " ").lower().split()
    kept = [
        word
        for word in words
        if word not in kind.noun.split() and word not in (f"{kind.noun}s", "the", "a", "an", "by", "id")
    ]
    return " ".join(kept) or "process"


def _link_words(field: str) -> str:
    words = _CAPITAL.sub(" ", field).replace("_", " ").lower().split()
    while len(words) > 1 and words[-1] in ("id", "uuid", "key", "username", "slug", "code", "number", "name"):
        words.pop()
    return " ".join(words)


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _without_twins(answers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return answers if len({words for words, _ in answers}) == len(answers) else ()
