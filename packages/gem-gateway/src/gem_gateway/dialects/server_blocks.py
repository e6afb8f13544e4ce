"""Blocks of Anthropic's interface for tools that the gateway carries out itself."""

from __future__ import annotations

from collections import Counter
from typing import Any

from gem_gateway.calls import ModelCall
from gem_gateway.dialects.server_tools import documents_of, exit_code
from gem_gateway.tool_turns import ToolRun

__all__ = ["RESULT_BLOCKS", "RUN_PREFIX", "run_blocks", "server_usage"]

RUN_PREFIX = "srvtoolu_"
RESULT_BLOCKS = ("web_search_tool_result", "code_execution_tool_result")


def run_blocks(run: ToolRun) -> list[dict[str, Any]]:
    """Return the call and the result of a run.

    What a hosted API would encrypt in a search's results is left to the session, which knows them by the call's id.
    """
    identifier = f"{RUN_PREFIX}{run.id}"
    if run.kind == "web_search":
        name, given, result = "web_search", {"query": run.argument}, _search_result(run)
    else:
        name, given, result = "code_execution", {"code": run.argument}, _code_result(run)
    return [
        {"type": "server_tool_use", "id": identifier, "name": name, "input": given},
        {"type": f"{name}_tool_result", "tool_use_id": identifier, "content": result},
    ]


def server_usage(call: ModelCall) -> dict[str, Any]:
    """Return the field of the usage that counts the runs; nothing without any."""
    counts = Counter(run.kind for turn in call.turns for run in turn.runs)
    if not counts:
        return {}
    return {"server_tool_use": {"web_search_requests": counts["web_search"], "web_fetch_requests": 0}}


def _search_result(run: ToolRun) -> Any:
    if not run.result.ok:
        return {"type": "web_search_tool_result_error", "error_code": "unavailable"}
    return [
        {"type": "web_search_result", "title": title, "url": url, "encrypted_content": run.id, "page_age": None}
        for title, url in documents_of(run)
    ]


def _code_result(run: ToolRun) -> dict[str, Any]:
    text = run.result.text.strip()
    printed, failed = (text, "") if run.result.ok else ("", text)
    code = exit_code(run)
    return {"type": "code_execution_result", "stdout": printed, "stderr": failed, "return_code": code, "content": []}
