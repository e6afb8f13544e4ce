"""Functions that a program declares in Gemini's interface, and which of them the model must call."""

from __future__ import annotations

from typing import Any

from gem_gateway.dialects.fields import function_tool, names_of, objects, unusable
from gem_gateway.dialects.gemini_schemas import json_schema, proto_field
from gem_gateway.dialects.server_tools import ServerTools

__all__ = ["read_choice", "read_tools"]

_DECLARATIONS = ("functionDeclarations", "function_declarations")
_MODES = {"AUTO": None, "VALIDATED": None, "MODE_UNSPECIFIED": None, "NONE": "none", "ANY": "required"}


def read_tools(value: Any, served: ServerTools) -> list[dict[str, Any]]:
    """Return the declared functions as chat APIs take them; all other tools are the server's.

    Raises:
        ModelCallError: for declarations that are none.
    """
    tools: list[dict[str, Any]] = []
    for index, tool in enumerate(objects(value or [], "tools")):
        for kind in tool:
            if kind not in _DECLARATIONS:
                served.ask(kind, tool[kind] if isinstance(tool[kind], dict) else {}, f"tools[{index}].{kind}")
        declared = proto_field(tool, _DECLARATIONS[0])
        for number, function in enumerate(objects(declared or [], f"tools[{index}].{_DECLARATIONS[0]}")):
            param = f"tools[{index}].{_DECLARATIONS[0]}[{number}]"
            parameters = proto_field(function, "parametersJsonSchema")
            if parameters is None and function.get("parameters") is not None:
                parameters = json_schema(function["parameters"], f"{param}.parameters")
            tools.append(function_tool(function.get("name"), function.get("description"), parameters, param))
    served.offer(tools)
    return tools


def read_choice(value: Any, tools: list[dict[str, Any]], notes: list[str]) -> dict[str, Any]:
    """Return the fields of chat completions that say what the model must call.

    Args:
        value: a ``toolConfig``.
        tools: the declared functions.
        notes: of the call; of several allowed functions only that one must be called is passed on, with a note.

    Raises:
        ModelCallError: for a mode that is none, and for allowed functions that are not declared.
    """
    config = proto_field(value, "functionCallingConfig") if isinstance(value, dict) else None
    if not isinstance(config, dict):
        return {}
    mode = config.get("mode") or "AUTO"
    if not isinstance(mode, str) or mode.upper() not in _MODES:
        raise unusable(
            f"functionCallingConfig.mode must be AUTO, ANY, VALIDATED or NONE, got {mode!r:.80}", "toolConfig"
        )
    allowed = proto_field(config, "allowedFunctionNames") or []
    if not isinstance(allowed, list) or not all(isinstance(name, str) for name in allowed):
        raise unusable("functionCallingConfig.allowedFunctionNames must be a list of names", "toolConfig")
    if unknown := sorted(set(allowed) - names_of(tools)):
        raise unusable(f"functionCallingConfig allows {unknown[0]!r:.80}, which is not declared", "toolConfig")
    choice = _MODES[mode.upper()]
    if choice == "required" and len(allowed) == 1:
        return {"tool_choice": {"type": "function", "function": {"name": allowed[0]}}}
    if allowed:
        notes.append("left out allowedFunctionNames: the model may call any declared function")
    return {} if choice is None else {"tool_choice": choice}
