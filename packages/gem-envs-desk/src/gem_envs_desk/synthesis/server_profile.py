"""What is known of an MCP server: its configuration, its tools, and those that show its state."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

__all__ = ["ServerProfile", "StateRecord", "records_of", "sorted_value", "state_tables"]


@dataclass(frozen=True)
class ServerProfile:
    """A server that worlds are made of."""

    name: str
    config: Mapping[str, Any]
    """One server as in ``mcpServers``; ``${episode.dir}`` stands for the folder of an episode."""
    tools: tuple[Mapping[str, Any], ...]
    """The offered tools: name, description and parameters."""
    state_tools: tuple[str, ...]
    """Tools without arguments whose answers together show the whole state."""
    refused: Mapping[str, str] = field(default_factory=dict)
    unstable: tuple[str, ...] = ()
    """Names of fields that differ at each start, such as times; answers come without them."""

    def to_json(self) -> dict[str, Any]:
        """Return the profile as JSON values."""
        return json.loads(json.dumps(asdict(self)))  # type: ignore[no-any-return]

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ServerProfile:
        """Undo :meth:`to_json`."""
        listed = ("tools", "state_tools", "unstable")
        return cls(**{**value, **{name: tuple(value[name]) for name in listed if name in value}})


class StateRecord(NamedTuple):
    """One of the objects in a list of a state."""

    place: str
    """The name of the list, ``entities``."""
    fields: Mapping[str, Any]


def records_of(state: Mapping[str, Any]) -> Iterator[StateRecord]:
    """Yield the objects in the lists of a state: state tool → its answer."""
    for tool, answer in state.items():
        yield from _records(tool, answer)


def _records(name: str, value: Any) -> Iterator[StateRecord]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _records(key, inner)
    elif isinstance(value, list):
        for one in value:
            if isinstance(one, dict):
                yield StateRecord(name, one)
            yield from _records(name, one)


def state_tables(state: Mapping[str, Any]) -> dict[str, dict[Any, dict[str, Any]]]:
    """Return a state as tables of rows by their content. The order of lists makes no difference."""
    tables: dict[str, dict[Any, dict[str, Any]]] = {}
    for tool, answer in state.items():
        parts = answer if isinstance(answer, dict) else {"": answer}
        for name, value in parts.items():
            rows = tables.setdefault(f"{tool}.{name}" if name else tool, {})
            for one in value if isinstance(value, list) else [value]:
                plain = sorted_value(one)
                content = json.dumps(plain, sort_keys=True, ensure_ascii=False)
                row = rows.setdefault(content, {"value": content, "count": 0})
                row["count"] += 1
    return tables


def sorted_value(value: Any) -> Any:
    """Return a JSON value with its lists in a fixed order."""
    if isinstance(value, dict):
        return {name: sorted_value(one) for name, one in value.items()}
    if isinstance(value, list):
        return sorted(map(sorted_value, value), key=lambda one: json.dumps(one, sort_keys=True))
    return value
