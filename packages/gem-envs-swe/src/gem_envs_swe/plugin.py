"""The plugin of this package, which adds a command to GEM."""

from __future__ import annotations

from gem.plugins import Named, hookimpl

__all__ = ["gem_commands"]


@hookimpl
def gem_commands() -> Named:
    """Return the command ``gem swe``."""
    return {"swe": "gem_envs_swe.cli.main:swe_command"}
