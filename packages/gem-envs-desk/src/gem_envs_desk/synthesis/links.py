"""Links between types of records: properties that hold the key of another record."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from gem_envs_desk.synthesis.schemas import is_scalar, kind_of
from gem_envs_desk.synthesis.store_spec import RecordType

__all__ = ["creation_order", "links_of", "without_circles"]

_GENERIC = ("id", "uuid", "guid", "key", "name", "slug", "code", "number", "title")
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def links_of(kind: RecordType, types: Mapping[str, RecordType]) -> dict[str, str]:
    """Return the properties of a type whose names say that they hold a key of another one: property → type."""
    links: dict[str, str] = {}
    for name, schema in kind.properties.items():
        if name == kind.key or not is_scalar(schema) or "enum" in schema:
            continue
        word = _CAPITAL.sub("_", name).lower()
        for target in types.values():
            key = _CAPITAL.sub("_", target.key).lower()
            names = {f"{target.name}_{key}", f"{target.name}_id", target.name} | ({key} - set(_GENERIC))
            same_kind = kind_of(schema) == kind_of(target.properties[target.key])
            if target.name != kind.name and word in names and same_kind:
                links[name] = target.name
                break
    return links


def creation_order(types: Mapping[str, RecordType]) -> list[str]:
    """Return the names of types, each after those that it links to. Links must form no circle."""
    order: list[str] = []

    def visit(name: str) -> None:
        if name not in order:
            for target in types[name].links.values():
                visit(target)
            order.append(name)

    for name in types:
        visit(name)
    return order


def without_circles(types: Mapping[str, RecordType]) -> dict[str, RecordType]:
    """Return the types without the links that lead back, so that records can be created one after the other."""
    done: dict[str, RecordType] = {}

    def reaches(start: str, goal: str) -> bool:
        return start == goal or any(
            reaches(target, goal) for target in (done[start].links.values() if start in done else ())
        )

    for name, kind in types.items():
        done[name] = replace(kind, links={})
        kept = {link: target for link, target in kind.links.items() if not reaches(target, name)}
        done[name] = replace(kind, links=kept)
    return done
