"""Arguments for the tools of a server: their values are new, or those that its state shows."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gem_envs_desk.synthesis.openapi_calls import singular
from gem_envs_desk.synthesis.sampling import sample
from gem_envs_desk.synthesis.schemas import SchemaReader, kind_of
from gem_envs_desk.synthesis.seeding import argument_value
from gem_envs_desk.synthesis.server_profile import StateRecord

__all__ = ["HINT", "KEY_NAMES", "NEW", "DrawnArguments", "SourceCounts", "drawn_arguments", "words_of"]

NEW = "new"
"""The source of a value that the state does not show."""
HINT = "="
"""Begins the source of a word that the description of the tool lists."""

_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_OPTIONAL_SHARE = 0.4
"""The share of optional arguments that a call gives."""
_HINT_SHARE = 0.6
"""The share of trials with a listed word, where there is one."""
KEY_NAMES = {"name", "id", "key", "title", "uuid", "path", "slug", "names", "ids", "keys"}
"""Last words of the names of fields by which records are named."""
_TRIES = 5
_NO_LINKS = {"type", "kind", "category", "status", "label", "content", "contents", "description", "text", "query"}

SourceCounts = dict[tuple[str, str], Counter[str]]
"""Tool and place of an argument → how often a value of each source was in a call that changed the state."""


@dataclass
class DrawnArguments:
    """The arguments of a call, and where their values come from."""

    arguments: dict[str, Any]
    sources: list[tuple[str, str, Any]] = field(default_factory=list)
    """Place of the argument, source, value."""


def words_of(name: str) -> str:
    """Return a name as words: ``entityType`` → ``entity type``."""
    return _CAPITAL.sub(" ", name).replace("_", " ").replace("-", " ").lower().strip()


def drawn_arguments(
    tool: Mapping[str, Any],
    records: Sequence[StateRecord],
    learned: SourceCounts | None,
    rng: random.Random,
    hints: Mapping[tuple[str, str], Sequence[str]] | None = None,
) -> DrawnArguments:
    """Return arguments for a tool.

    Args:
        tool: name and parameters.
        records: the objects that the state shows.
        learned: the sources that have worked; None to try any.
        rng: decides.
        hints: tool and argument → words to try.

    Raises:
        UnsupportedSchemaError: if the schema of the parameters has alternatives or is otherwise unsupported.
    """
    schema = SchemaReader(tool["parameters"]).plain(tool["parameters"])
    drawing = _Drawing(tool["name"], records, learned, rng, hints or {})
    return DrawnArguments(drawing.value(schema, "", ""), drawing.sources)


class _Drawing:
    """Draws the arguments of one call; values of one source come from one record, if they can."""

    def __init__(
        self,
        tool: str,
        records: Sequence[StateRecord],
        learned: SourceCounts | None,
        rng: random.Random,
        hints: Mapping[tuple[str, str], Sequence[str]],
    ) -> None:
        self._tool, self._records, self._learned, self._rng, self._hints = tool, records, learned, rng, hints
        self._focus = rng.choice(records) if records else None
        self.sources: list[tuple[str, str, Any]] = []

    def value(self, schema: Mapping[str, Any], place: str, name: str) -> Any:
        kind = kind_of(schema)
        if kind == "object" or (not kind and "properties" in schema):
            properties = schema.get("properties", {})
            required = schema.get("required", [])
            return {
                key: self.value(inner, f"{place}.{key}" if place else key, key)
                for key, inner in properties.items()
                if key in required or (not place and self._is_given(key))
            }
        if kind == "array":
            count = max(int(schema.get("minItems", 1)), 1)
            return [self.value(schema.get("items", {}), f"{place}[]", name) for _ in range(min(count, 5))]
        if kind in ("string", "integer") and "enum" not in schema and "pattern" not in schema:
            return self._shown_or_new(schema, place, name, int if kind == "integer" else str)
        value = sample(schema, self._rng)
        self.sources.append((place, NEW, value))
        return value

    def _is_given(self, place: str) -> bool:
        """Decide whether a call gives an optional argument, one that has been in a call that changed the state."""
        return (self._learned is None or (self._tool, place) in self._learned) and (
            self._rng.random() < _OPTIONAL_SHARE
        )

    def _shown_or_new(self, schema: Mapping[str, Any], place: str, name: str, kind: type) -> Any:
        source = self._tried(place, name, kind) if self._learned is None else self._chosen(place, name, kind)
        value = source.removeprefix(HINT) if source.startswith(HINT) else None if source == NEW else self._shown(source)
        if value is None:
            source, value = NEW, argument_value(name, schema, self._rng)
            keys = self._keys() if kind is int else ()
            for _ in range(_TRIES):
                if value not in keys:  # by chance the key of a record, of which nothing would be learned
                    break
                value = argument_value(name, schema, self._rng)
        self.sources.append((place, source, value))
        return value

    def _keys(self) -> set[Any]:
        return {
            value
            for one in self._records
            for name, value in one.fields.items()
            if _last_word(name) in KEY_NAMES and isinstance(value, int)
        }

    def _tried(self, place: str, name: str, kind: type) -> str:
        known = [one for one in dict.fromkeys(_sources(self._records, kind)) if self._focus is not None]
        alike = [one for one in known if _last_word(one) == _last_word(name)]
        keys = [one for one in known if _last_word(one) in KEY_NAMES or one.endswith("[]")]
        listed = [f"{HINT}{word}" for word in self._hints.get((self._tool, place), ())] if kind is str else []
        if listed and self._rng.random() < _HINT_SHARE:
            return self._rng.choice(listed)
        return self._rng.choice([NEW, NEW, *keys, *alike * 3])

    def _chosen(self, place: str, name: str, kind: type) -> str:
        assert self._learned is not None
        worked = self._learned.get((self._tool, place), Counter())
        shown = [one for one in worked if one != NEW and not one.startswith(HINT)]
        listed = [one for one in worked if one.startswith(HINT)]
        same = [one for one in shown if one.split(".")[-1].removesuffix("[]") == name]
        keys = [one for one in shown if _last_word(one) in KEY_NAMES]
        # A number that is the key of one record is by chance that of another; an item_id is that of the items.
        keys = [one for one in keys if singular(words_of(one.split(".")[0])) in words_of(name).split()] or keys
        if NEW in worked and kind is int:
            return NEW
        if NEW in worked:
            # A key that can be new names a new record; a list of texts and a description are new as well.
            is_own = place.endswith("[]") or _last_word(name) in KEY_NAMES
            if is_own or _last_word(name) in _NO_LINKS:
                return self._rng.choice([NEW, NEW, *same]) if _last_word(name) in ("type", "kind", "status") else NEW
            return self._rng.choice(keys) if keys else NEW
        if listed or not shown:
            return self._rng.choice(listed or [NEW])
        best = same or keys or shown
        return self._rng.choices(best, [worked[one] for one in best])[0]

    def _shown(self, source: str) -> Any:
        fitting = [one for one in self._records if source in _sources([one], str) + _sources([one], int)]
        if not source.endswith("[]"):  # two arguments of one call, such as both ends of a relation, differ
            used = [value for _, of, value in self.sources if of == source]
            fitting = [one for one in fitting if one.fields[source.split(".", 1)[1]] not in used]
        if not fitting:
            return None
        record = self._focus if self._focus in fitting else self._rng.choice(fitting)
        assert record is not None
        value = record.fields[source.split(".", 1)[1].removesuffix("[]")]
        return self._rng.choice(value) if isinstance(value, list) else value


def _sources(records: Sequence[StateRecord], kind: type) -> list[str]:
    """Return the names of the texts or whole numbers that records show: ``entities.name``, ``notes.tags[]``."""
    found: list[str] = []
    for record in records:
        for name, value in record.fields.items():
            if type(value) is kind:
                found.append(f"{record.place}.{name}")
            elif isinstance(value, list) and value and all(type(one) is kind for one in value):
                found.append(f"{record.place}.{name}[]")
    return found


def _last_word(name: str) -> str:
    return words_of(name.split(".")[-1].removesuffix("[]")).rsplit(" ", 1)[-1]
