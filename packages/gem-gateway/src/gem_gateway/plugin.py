"""What this package adds to GEM: the command ``gem gateway`` and the harnesses."""

from __future__ import annotations

from gem.plugins import Named, hookimpl

__all__ = ["gem_commands"]


@hookimpl
def gem_commands() -> Named:
    """Return the commands."""
    return {"gateway": "gem_gateway.cli.gateway:gateway_command"}
