"""Tools that a hosted API runs itself, and which no program behind a gateway gets.

A web search, a code interpreter or a remote MCP server that runs beside the model reaches what the program's box does
not, so that none of them is passed on. They are left out of the call, with a note, or the call is refused.
"""

from __future__ import annotations

from gem_gateway.dialects.base import CallSettings
from gem_gateway.dialects.fields import unusable

__all__ = ["leave_out"]


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
