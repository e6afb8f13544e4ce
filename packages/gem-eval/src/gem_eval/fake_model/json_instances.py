"""Instances of JSON schemas, drawn at random: what a model with structured output could answer."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

__all__ = ["instance"]

_DEEPEST = 12
_WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")


def instance(schema: Any, rng: random.Random, number: float | None = None) -> Any:
    """Return a value that a schema admits.

    Supports what structured output supports: types, ``enum``, ``const``, ``properties``, ``items``, bounds, ``anyOf``,
    ``oneOf``, ``allOf`` and local references. Patterns and formats are not obeyed.

    Args:
        schema: a JSON schema.
        rng: for everything that the schema leaves open.
        number: for every number, as far as its bounds admit it; drawn if None.
    """
    return _Drawing(schema, rng, number).draw(schema, 0)


class _Drawing:
    def __init__(self, root: Any, rng: random.Random, number: float | None) -> None:
        self.root, self.rng, self.number = root, rng, number

    def draw(self, schema: Any, depth: int) -> Any:
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            return None
        if "const" in schema:
            return schema["const"]
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return self.rng.choice(schema["enum"])
        if isinstance(schema.get("$ref"), str):
            return self.draw(self._referred(schema["$ref"]), depth + 1)
        for name in ("anyOf", "oneOf"):
            if isinstance(schema.get(name), list) and schema[name]:
                return self.draw(schema[name][0], depth + 1)
        if isinstance(schema.get("allOf"), list):
            merged: dict[str, Any] = {}
            for part in schema["allOf"]:
                value = self.draw(part, depth + 1)
                if not isinstance(value, dict):
                    return value
                merged.update(value)
            return merged
        return self._typed(schema, depth)

    def _typed(self, schema: Mapping[str, Any], depth: int) -> Any:
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if isinstance(kind, list):
            kind = kind[0] if kind else "string"
        if kind == "object":
            properties = schema.get("properties")
            properties = properties if isinstance(properties, Mapping) else {}
            return {str(name): self.draw(part, depth + 1) for name, part in properties.items()}
        if kind == "array":
            least = _number(schema.get("minItems"), 1)
            return [self.draw(schema.get("items", {"type": "string"}), depth + 1) for _ in range(min(int(least), 100))]
        if kind in ("number", "integer"):
            return self._number(schema, kind == "integer")
        if kind == "boolean":
            return self.rng.random() < 0.5 if self.number is None else self.number > 0
        if kind == "null":
            return None
        text = self.rng.choice(_WORDS)
        least = min(int(_number(schema.get("minLength"), 0)), 10_000)
        longest = int(_number(schema.get("maxLength"), 10_000))
        return (text + "." * (least - len(text)))[:longest]

    def _number(self, schema: Mapping[str, Any], whole: bool) -> float | int:
        low = _number(schema.get("minimum", schema.get("exclusiveMinimum")), 0)
        high = _number(schema.get("maximum", schema.get("exclusiveMaximum")), max(low + 1, 1))
        value = self.rng.uniform(low, high) if self.number is None else min(max(self.number, low), high)
        if whole:
            value = int(value + 0.5)
            return value - 1 if "exclusiveMaximum" in schema and value >= high else value
        return round(value, 3)

    def _referred(self, reference: str) -> Any:
        found = self.root
        for name in reference.removeprefix("#").strip("/").split("/"):
            found = found.get(name) if isinstance(found, Mapping) and name else found
        return found


def _number(value: object, default: float) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else default
