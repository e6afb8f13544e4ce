"""What this package adds to GEM: a command."""

from __future__ import annotations

from gem.plugins import Named, hookimpl

__all__ = ["gem_commands"]


@hookimpl
def gem_commands() -> Named:
    """The command ``gem terminal``."""
    return {"terminal": "gem_terminal.cli.main:terminal_command"}
