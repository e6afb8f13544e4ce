"""The settings of a run as a configuration file that plays it again: :func:`settings_toml`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from gem_eval.runs import EvaluationConfig

__all__ = ["settings_toml"]


def settings_toml(config: EvaluationConfig) -> str | None:
    """Return a configuration file that :meth:`EvaluationConfig.from_toml` reads as this configuration.

    Settings with the value that they have without a word are left out.

    Returns:
        None where a setting holds what TOML cannot say: a null, or half of a surrogate pair.
    """
    usual = _fields(EvaluationConfig())
    settings = {name: value for name, value in _fields(config).items() if value != usual[name]}
    environments = settings.pop("environments", ())
    if config.prices is not None:
        settings["prices"] = _fields(config.prices)
    try:
        lines = [f"{name} = {_value(value)}" for name, value in settings.items()]
        for item in environments:
            lines += ["", "[[environment]]"]
            lines += [f"{name} = {_value(value)}" for name, value in _fields(item).items() if value not in (None, {})]
        text = "\n".join([*lines, ""])
        text.encode()
    except (TypeError, ValueError):
        return None
    return text


def _fields(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name, without looking into them."""
    return {item.name: getattr(value, item.name) for item in fields(value)}


def _value(value: Any) -> str:
    """Return a value on one line of TOML 1.0.

    Raises:
        TypeError: for a null, and for what is no value of JSON.
    """
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_value(str(name))} = {_value(item)}' for name, item in value.items())} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):  # JSON escapes as TOML does, which wants U+007F escaped as well
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (bool, int, float)):
        return json.dumps(value)
    raise TypeError(f"TOML has no {type(value).__name__}")
