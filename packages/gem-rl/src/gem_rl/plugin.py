"""What this package adds to GEM: the command ``gem train``."""

from __future__ import annotations

from gem.plugins import Named, hookimpl

__all__ = ["gem_commands"]


@hookimpl
def gem_commands() -> Named:
    """Return the command."""
    return {"train": "gem_rl.cli.train:train_command"}
