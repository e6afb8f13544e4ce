"""What this package adds to GEM: the command ``gem serve`` and the vectorization mode ``server``."""

from __future__ import annotations

from gem.plugins import Named, hookimpl

__all__ = ["gem_commands", "gem_vector_backends"]


@hookimpl
def gem_commands() -> Named:
    """Return the command."""
    return {"serve": "gem_server.cli.serve:serve_command"}


@hookimpl
def gem_vector_backends() -> Named:
    """Return the mode."""
    return {"server": "gem_server.client.vector:ServerVectorEnv"}
