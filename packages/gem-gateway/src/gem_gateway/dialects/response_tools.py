"""Tools as OpenAI's Responses declare them, as the functions of chat completions.

Two kinds that the program itself runs have no counterpart there. A custom tool takes free text: it becomes a function
with the one argument ``input``. A namespace holds tools of its own: each becomes a function whose name begins with the
namespace's and two underscores. Their calls go out in the form in which they were declared.
"""

from __future__ import annotations

from typing import Any

from gem_gateway.dialects.base import CallSettings
from gem_gateway.dialects.fields import function_tool, names_of, objects, optional_text, unusable
from gem_gateway.dialects.server_tools import ServerTools, leave_out

__all__ = ["read_choice", "read_tools", "tool_name"]

_INPUT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


def tool_name(name: str, namespace: str | None) -> str:
    """Return the name of the function that stands for a tool."""
    return f"{namespace}__{name}" if namespace else name


def read_tools(value: Any, served: ServerTools) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Return the tools as functions, and the form of those that were declared as something else.

    Returns:
        The declarations, and a table: name of a function → its ``type`` where that is ``custom``, and its ``namespace``
        and ``name`` there.

    Raises:
        ModelCallError: for a declaration that is none.
    """
    tools: list[dict[str, Any]] = []
    forms: dict[str, dict[str, Any]] = {}
    for index, tool in enumerate(objects(value or [], "tools")):
        param = f"tools[{index}]"
        if tool.get("type") != "namespace":
            _add(tool, None, param, served, tools, forms)
            continue
        namespace = tool.get("name")
        if not isinstance(namespace, str) or not namespace:
            raise unusable(f"{param}.name must be a string that is not empty", f"{param}.name")
        for place, inner in enumerate(objects(tool.get("tools") or [], f"{param}.tools")):
            _add(inner, namespace, f"{param}.tools[{place}]", served, tools, forms)
    served.offer(tools)
    return tools, forms


def _add(
    tool: dict[str, Any],
    namespace: str | None,
    param: str,
    served: ServerTools,
    tools: list[dict[str, Any]],
    forms: dict[str, dict[str, Any]],
) -> None:
    kind = tool.get("type")
    if kind not in ("function", "custom"):
        served.ask(str(kind), tool, param)
        return
    name = tool_name(tool["name"], namespace) if isinstance(tool.get("name"), str) else None
    description = optional_text(tool.get("description"), f"{param}.description")
    if kind == "custom":
        form = tool.get("format")
        if isinstance(form, dict) and isinstance(definition := form.get("definition"), str):
            description = f"{description}\n\nThe input follows this grammar ({form.get('syntax')}):\n{definition}"
    tools.append(function_tool(name, description, _INPUT if kind == "custom" else tool.get("parameters"), param))
    if kind == "custom" or namespace:
        forms[tools[-1]["function"]["name"]] = {"type": kind, "name": tool["name"], "namespace": namespace}


def read_choice(
    choice: Any, tools: list[dict[str, Any]], served: ServerTools, settings: CallSettings, notes: list[str]
) -> dict[str, Any]:
    """Return the fields of a request that say whether the model must call a tool.

    Raises:
        ModelCallError: for a choice that is none.
    """
    if choice in (None, "auto"):
        return {}
    if choice in ("none", "required"):
        return {"tool_choice": choice}
    kind = choice.get("type") if isinstance(choice, dict) else None
    if kind == "allowed_tools":
        allowed = {
            served.kind_of(str(tool.get("type"))) or tool_name(str(tool.get("name")), tool.get("namespace"))
            for tool in objects(choice.get("tools"), "tool_choice.tools")
        }
        tools[:] = [tool for tool in tools if tool["function"]["name"] in allowed]
        return {"tool_choice": "required"} if choice.get("mode") == "required" and tools else {}
    if (own := served.kind_of(str(kind))) in served.uses:
        return {"tool_choice": {"type": "function", "function": {"name": own}}}
    if kind not in ("function", "custom"):
        leave_out(str(kind), "tool_choice", settings, notes)
        return {}
    name = tool_name(str(choice.get("name")), choice.get("namespace"))
    if name not in names_of(tools):
        raise unusable(f"tool_choice names {name[:80]!r}, which is not among the tools", "tool_choice")
    return {"tool_choice": {"type": "function", "function": {"name": name}}}
