"""What the page says of a run as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem_eval.viewer.viewed_run import ViewedRun

__all__ = ["run_facts"]

_TEXTS = ("name", "agent", "model", "base_url", "gem", "wrappers")
_NUMBERS = ("started_at", "episodes", "group", "seed", "schema")
_LONGEST = 500
_MOST_ENVIRONMENTS = 500


def run_facts(run: ViewedRun) -> dict[str, Any]:
    """Return the facts of a run's configuration that the page shows, each of a known type."""
    config = run.config()
    facts: dict[str, Any] = {name: _text(config.get(name)) for name in _TEXTS}
    facts.update((name, _number(config.get(name))) for name in _NUMBERS)
    facts["name"] = _text(run.name)
    facts["folder"] = _text(str(run.path))
    facts["environments"] = [label for item in _listed(config.get("environments")) if (label := _label(item))]
    facts["sampling"] = _flat(config.get("sampling"))
    facts["limits"] = _flat(config.get("limits"))
    return facts


def _label(environment: Any) -> str | None:
    if not isinstance(environment, Mapping):
        return _text(environment)
    spec = environment.get("spec")
    return _text(environment.get("label")) or (_text(spec.get("id")) if isinstance(spec, Mapping) else None)


def _flat(value: Any) -> dict[str, str]:
    """Return the settings of a group that are set, as text."""
    if not isinstance(value, Mapping):
        return {}
    shown = {str(name)[:_LONGEST]: str(item)[:_LONGEST] for name, item in value.items() if item not in (None, {}, [], "")}
    return {_valid(name): _valid(item) for name, item in list(shown.items())[:50]}


def _listed(value: Any) -> list[Any]:
    return value[:_MOST_ENVIRONMENTS] if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    if isinstance(value, list):
        value = ", ".join(item for item in value if isinstance(item, str))
    return _valid(value[:_LONGEST]) if isinstance(value, str) and value else None


def _valid(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**53 else None
