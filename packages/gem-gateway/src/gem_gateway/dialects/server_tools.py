"""Tools that a hosted API runs itself, and which no program behind a gateway gets.

A web search, a code interpreter or a remote MCP server that runs beside the model reaches what the program's box does
not, so that none of them is passed on. They are left out of the call, with a note, or the call is refused. A run may
declare tools of its own for the first two: the model then gets a function, which the gateway carries out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gem_gateway.dialects.base import CallSettings
from gem_gateway.dialects.fields import names_of, unusable, whole

if TYPE_CHECKING:
    from gem_gateway.tool_turns import ToolRun

__all__ = ["ServerTools", "documents_of", "exit_code", "leave_out"]

_KINDS = {
    "code_interpreter": ("code_interpreter", "code_execution_", "codeExecution", "code_execution"),
    "web_search": ("web_search", "googleSearch", "google_search"),
}
"""Kind → beginnings of the names that the interfaces have for it; most carry a date after them."""

_FILTERS = ("allowed_domains", "blocked_domains", "filters", "user_location")


class ServerTools:
    """Collects the tools of the server that a request asks for, as functions where the gateway carries them out.

    Args:
        settings: of the session.
        notes: of the call.

    Attributes:
        uses: for :attr:`ModelCall.server_tools`.
    """

    def __init__(self, settings: CallSettings, notes: list[str]) -> None:
        self.uses: dict[str, int | None] = {}
        self._settings = settings
        self._notes = notes

    def ask(self, name: str, tool: Mapping[str, Any], param: str) -> None:
        """Note that a request asks for a tool.

        Args:
            name: the tool's type, as the program wrote it.
            tool: its declaration.
            param: where it stands.

        Raises:
            ModelCallError: if the session refuses such calls.
        """
        kind = self.kind_of(name)
        if kind is None:
            leave_out(name, param, self._settings, self._notes)
            return
        self.uses[kind] = whole(tool.get("max_uses"), f"{param}.max_uses", minimum=1)
        for field in _FILTERS:
            if tool.get(field):
                self._notes.append(f"left out {param}.{field}: the tool of this run does not take it")

    def kind_of(self, name: str) -> str | None:
        """Return which tool of this run carries out a tool of the server; None for those that none does."""
        for kind, beginnings in _KINDS.items():
            if kind in self._settings.run_tools and name.startswith(beginnings):
                return kind
        return None

    def offer(self, tools: list[dict[str, Any]]) -> None:
        """Append the functions that stand for the tools, unless the program has functions of these names."""
        for kind in list(self.uses):
            if kind in names_of(tools):
                self._notes.append(f"left out {kind!r}, a tool of the server: the program has a function of this name")
                del self.uses[kind]
            else:
                declared = self._settings.run_tools[kind].to_openai()
                tools.append({**declared, "function": {**declared["function"], "name": kind}})


def leave_out(kind: str, param: str, settings: CallSettings, notes: list[str]) -> None:
    """Note that a tool of the server is left out of a call.

    Args:
        kind: the tool's type, or the field that asks for it, as the program wrote it.
        param: where it stands in the request.
        settings: of the session.
        notes: of the call.

    Raises:
        ModelCallError: if the session refuses such calls.
    """
    shown = "".join(character if character.isprintable() else "?" for character in kind[:80])
    if settings.server_tools == "refuse":
        raise unusable(
            f"{param} asks for {shown!r}, which a server would have to run; this gateway runs no tools, "
            "so declare a function that the program runs, or switch this tool off",
            param,
        )
    notes.append(f"left out {shown!r} ({param}): a tool of the server")


def documents_of(run: ToolRun) -> list[tuple[str, str]]:
    """Return title and address of each document that a search has found; one without an address is named by its id."""
    found = run.result.data if isinstance(run.result.data, list) else []
    documents = []
    for hit in found:
        name = str(hit.get("id"))
        url = name if name.startswith(("http://", "https://")) else f"document:{quote(name)}"
        documents.append((str(hit.get("title") or name), url))
    return documents


def exit_code(run: ToolRun) -> int:
    """Return the exit code of a run of a program; 1 if it has none, as after a limit."""
    if run.result.ok:
        return 0
    code = run.result.data.get("exit_code") if isinstance(run.result.data, dict) else None
    return code if type(code) is int and code else 1
