"""Arguments for the tools of a server: their texts are new, or values that its state shows."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gem_envs_desk.synthesis.sampling import sample
from gem_envs_desk.synthesis.schemas import SchemaReader, kind_of
from gem_envs_desk.synthesis.seeding import argument_value
from gem_envs_desk.synthesis.server_profile import StateRecord

__all__ = ["NEW", "DrawnArguments", "SourceCounts", "drawn_arguments", "words_of"]

NEW = "new"
"""The source of a value that the state does not show."""

_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_KEYS = {"name", "id", "key", "title", "uuid", "path", "slug", "names", "ids", "keys"}
_NO_LINKS = {"type", "kind", "category", "status", "label", "content", "contents", "description", "text", "query"}

SourceCounts = dict[tuple[str, str], Counter[str]]
"""Tool and place of an argument → how often a value of each source was in a call that changed the state."""


@dataclass
class DrawnArguments:
    """The arguments of a call, and where their texts come from."""

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
) -> DrawnArguments:
    """Return arguments for a tool.

    Args:
        tool: name and parameters.
        records: the objects that the state shows.
        learned: the sources that have worked; None to try any.
        rng: decides.

    Raises:
        UnsupportedSchemaError: if the schema of the parameters has alternatives or is otherwise unsupported.
    """
    schema = SchemaReader(tool["parameters"]).plain(tool["parameters"])
    drawing = _Drawing(tool["name"], records, learned, rng)
    return DrawnArguments(drawing.value(schema, "", ""), drawing.sources)


class _Drawing:
    """Draws the arguments of one call; values of one source come from one record, if they can."""

    def __init__(
        self, tool: str, records: Sequence[StateRecord], learned: SourceCounts | None, rng: random.Random
    ) -> None:
        self._tool, self._records, self._learned, self._rng = tool, records, learned, rng
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
                if key in required
            }
        if kind == "array":
            count = max(int(schema.get("minItems", 1)), 1)
            return [self.value(schema.get("items", {}), f"{place}[]", name) for _ in range(min(count, 5))]
        if kind == "string" and "enum" not in schema and "pattern" not in schema:
            return self._text(schema, place, name)
        return sample(schema, self._rng)

    def _text(self, schema: Mapping[str, Any], place: str, name: str) -> Any:
        source = self._tried(name) if self._learned is None else self._chosen(place, name)
        value = None if source == NEW else self._shown(source)
        if value is None:
            source, value = NEW, argument_value(name, schema, self._rng)
        self.sources.append((place, source, value))
        return value

    def _tried(self, name: str) -> str:
        known = [one for one in dict.fromkeys(_sources(self._records)) if self._focus is not None]
        alike = [one for one in known if _last_word(one) == _last_word(name)]
        return self._rng.choice([NEW, NEW, *known, *alike * 3])

    def _chosen(self, place: str, name: str) -> str:
        assert self._learned is not None
        worked = self._learned.get((self._tool, place), Counter())
        shown = [one for one in worked if one != NEW]
        same = [one for one in shown if one.split(".")[-1].removesuffix("[]") == name]
        keys = [one for one in shown if _last_word(one) in _KEYS]
        if NEW in worked:
            # A key that can be new names a new record; a list of texts and a description are new as well.
            is_own = place.endswith("[]") or _last_word(name) in _KEYS
            if is_own or _last_word(name) in _NO_LINKS:
                return self._rng.choice([NEW, NEW, *same]) if _last_word(name) in ("type", "kind", "status") else NEW
            return self._rng.choice(keys) if keys else NEW
        return self._rng.choice(same or keys or shown or [NEW])

    def _shown(self, source: str) -> Any:
        fitting = [one for one in self._records if source in _sources([one])]
        if not source.endswith("[]"):  # two arguments of one call, such as both ends of a relation, differ
            used = [value for _, of, value in self.sources if of == source]
            fitting = [one for one in fitting if one.fields[source.split(".", 1)[1]] not in used]
        if not fitting:
            return None
        record = self._focus if self._focus in fitting else self._rng.choice(fitting)
        assert record is not None
        value = record.fields[source.split(".", 1)[1].removesuffix("[]")]
        return self._rng.choice(value) if isinstance(value, list) else value


def _sources(records: Sequence[StateRecord]) -> list[str]:
    """Return the names of the texts that records show: ``entities.name``, ``entities.observations[]``."""
    found: list[str] = []
    for record in records:
        for name, value in record.fields.items():
            if isinstance(value, str):
                found.append(f"{record.place}.{name}")
            elif isinstance(value, list) and value and all(isinstance(one, str) for one in value):
                found.append(f"{record.place}.{name}[]")
    return found


def _last_word(name: str) -> str:
    return words_of(name.split(".")[-1].removesuffix("[]")).rsplit(" ", 1)[-1]
