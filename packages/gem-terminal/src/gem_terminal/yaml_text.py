"""YAML as anybody may have written it: :func:`yaml_of`."""

from __future__ import annotations

from typing import Any

__all__ = ["yaml_of"]


def yaml_of(text: str) -> Any:
    """Return what a text holds.

    Raises:
        ValueError: if it is no YAML.
    """
    import yaml  # few actions are YAML

    # Tags, dates and numbers that are none raise whatever the constructor of their type does.
    raised = (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
    try:
        return yaml.safe_load(text)  # in Python: the parser in C is ended by the system on deep nesting
    except raised as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
