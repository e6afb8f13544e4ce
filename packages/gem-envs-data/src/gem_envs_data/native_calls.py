"""The first call that an action makes natively, as chat APIs return it."""

from __future__ import annotations

from typing import Any

from gem.tools.calls import ToolCall, native_calls

__all__ = ["function_schema", "native_call"]


def native_call(action: object) -> ToolCall | None:
    """Return the first native call of an assistant message, or None if the action is none or has none."""
    return None if type(action) is str else next(iter(native_calls(action)), None)


def function_schema(name: str, description: str, **parameters: str) -> dict[str, Any]:
    """Return the schema of a function with texts as arguments, for the ``tools`` of a chat API.

    Args:
        name: its name.
        description: its purpose, for the model.
        **parameters: name → description.
    """
    properties = {key: {"type": "string", "description": text} for key, text in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}
