"""Parts of Gemini's interface for tools that the gateway carries out itself.

A program has its code and what it printed. Of a search, parts with the call and its response go out also to programs
that have not asked for them with ``includeServerSideToolInvocations``: without them in the next request, nothing would
tell which turns of the model it continues.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem_gateway.calls import ModelCall
from gem_gateway.dialects.gemini_schemas import proto_field
from gem_gateway.dialects.server_tools import documents_of
from gem_gateway.tool_turns import ToolRun

__all__ = ["grounding", "run_of", "run_parts"]

_PARTS = ("executableCode", "codeExecutionResult", "toolCall", "toolResponse")
_SEARCH = "GOOGLE_SEARCH_WEB"


def run_parts(run: ToolRun) -> list[dict[str, Any]]:
    """Return the call and the result of a run."""
    text = run.result.text.strip()
    if run.kind == "web_search":
        called = {"id": run.id, "toolType": _SEARCH, "args": {"queries": [run.argument]}}
        return [
            {"toolCall": called},
            {"toolResponse": {"id": run.id, "toolType": _SEARCH, "response": {"result": text}}},
        ]
    outcome = "OUTCOME_OK" if run.result.ok else "OUTCOME_FAILED"
    return [
        {"executableCode": {"id": run.id, "language": "PYTHON", "code": run.argument}},
        {"codeExecutionResult": {"id": run.id, "outcome": outcome, "output": text}},
    ]


def run_of(part: Mapping[str, Any]) -> str | None:
    """Return which run a part is of; None for one that is of none."""
    for kind in _PARTS:
        if isinstance(found := proto_field(part, kind), dict):
            return str(found.get("id"))
    return None


def grounding(call: ModelCall) -> dict[str, Any]:
    """Return the field of a candidate that names queries and documents; nothing without a search."""
    searches = [run for turn in call.turns for run in turn.runs if run.kind == "web_search"]
    if not searches:
        return {}
    chunks = [{"web": {"uri": url, "title": title}} for run in searches for title, url in documents_of(run)]
    return {"groundingMetadata": {"webSearchQueries": [run.argument for run in searches], "groundingChunks": chunks}}
