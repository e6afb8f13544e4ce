"""The commands that this package adds to GEM."""

from __future__ import annotations

from gem.plugins import Named, hookimpl

__all__ = ["gem_commands"]


@hookimpl
def gem_commands() -> Named:
    """Return the commands ``gem check``, ``gem new`` and ``gem skill``."""
    return {
        "check": "gem_testing.cli.check:check_command",
        "new": "gem_testing.cli.new:new_command",
        "skill": "gem_testing.cli.skill:skill_command",
    }
