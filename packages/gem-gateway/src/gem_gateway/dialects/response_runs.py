"""Items of OpenAI's Responses for tools that the gateway carries out itself, and the events that stream them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gem_gateway.dialects.base import pieces
from gem_gateway.dialects.server_tools import documents_of
from gem_gateway.tool_turns import ToolRun

__all__ = ["RUN_ITEMS", "run_events", "run_item"]

RUN_ITEMS = {"web_search_call": "ws_", "code_interpreter_call": "ci_"}
"""Type of an item → what begins its id."""


def run_item(run: ToolRun, include: list[Any]) -> dict[str, Any]:
    """Return a run as an item.

    Args:
        run: of a tool.
        include: the program's list of further fields; those about runs are the sources of a search and the outputs of
            a program.
    """
    status = "completed" if run.result.ok else "failed"
    if run.kind == "web_search":
        action: dict[str, Any] = {"type": "search", "query": run.argument, "queries": [run.argument]}
        if "web_search_call.action.sources" in include:
            action["sources"] = [{"type": "url", "url": url} for _, url in documents_of(run)]
        return {"id": f"ws_{run.id}", "type": "web_search_call", "status": status, "action": action}
    # A program that fails is one that ran.
    item = {"id": f"ci_{run.id}", "type": "code_interpreter_call", "status": "completed", "container_id": "cntr_gem"}
    outputs = None
    if "code_interpreter_call.outputs" in include:
        outputs = [{"type": "logs", "logs": run.result.text.strip()}]
    return {**item, "code": run.argument, "outputs": outputs}


def run_events(
    item: dict[str, Any], place: dict[str, Any], inside: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the events of an item but the last.

    Args:
        item: of a run.
        place: its ``output_index``.
        inside: the same with its id, for the events inside it.
    """
    kind = f"response.{item['type']}"
    opened = {**item, "status": "in_progress"}
    if "code" not in item:
        yield "response.output_item.added", {**place, "item": opened}
        for state in ("in_progress", "searching", "completed"):
            yield f"{kind}.{state}", inside
        return
    yield "response.output_item.added", {**place, "item": {**opened, "code": "", "outputs": None}}
    yield f"{kind}.in_progress", inside
    for piece in pieces(item["code"]):
        yield f"{kind}_code.delta", {**inside, "delta": piece}
    yield f"{kind}_code.done", {**inside, "code": item["code"]}
    yield f"{kind}.interpreting", inside
    yield f"{kind}.completed", inside
