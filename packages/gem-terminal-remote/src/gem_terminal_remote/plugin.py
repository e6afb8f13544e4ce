"""The plugin of this package, which adds a command to ``gem terminal``."""

from __future__ import annotations

from gem.plugins import Named, hookimpl

__all__ = ["gem_commands"]


@hookimpl
def gem_commands() -> Named:
    """Return the command ``gem terminal worker``."""
    return {"terminal worker": "gem_terminal_remote.cli.worker:worker_command"}
