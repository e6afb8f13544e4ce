"""What gem-hub adds to the ``gem`` command: the subcommands of ``gem hub`` that change or serve a hub."""

from __future__ import annotations

from gem.plugins import Named, hookimpl

__all__ = ["gem_commands"]

COMMANDS = ("publish", "yank", "unyank", "deprecate", "quarantine", "owner", "rebuild", "serve", "site")


@hookimpl
def gem_commands() -> Named:
    """Name each subcommand ``hub NAME``; the group ``gem hub`` takes those that begin with ``hub``."""
    return {f"hub {name}": f"gem_hub.cli.{name}:{name}_command" for name in COMMANDS}
