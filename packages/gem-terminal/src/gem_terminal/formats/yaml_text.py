"""YAML of untrusted origin: :func:`yaml_of`."""

from __future__ import annotations

from typing import Any

__all__ = ["yaml_of"]


def yaml_of(text: str) -> Any:
    """Parse a YAML text.

    Raises:
        ValueError: if the text is not valid YAML.
    """
    import yaml  # few actions are YAML

    # The constructors of tags, dates and numbers raise various errors for invalid values.
    raised = (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
    try:
        return yaml.safe_load(text)  # the Python parser: deep nesting makes the C parser overflow its stack
    except raised as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
