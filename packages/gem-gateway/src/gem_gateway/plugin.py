"""What this package adds to GEM: commands, and harnesses by name."""

from __future__ import annotations

from functools import partial
from typing import Any

from gem.plugins import Named, hookimpl

__all__ = ["gem_commands", "gem_harnesses"]


@hookimpl
def gem_commands() -> Named:
    """Return the commands."""
    return {
        "gateway": "gem_gateway.cli.gateway:gateway_command",
        "harness": "gem_gateway.cli.harness:harness_command",
    }


@hookimpl
def gem_harnesses() -> Named:
    """Return the harnesses: the agent programs of the table, any command, and any function."""
    from gem_gateway.harnesses.table import harnesses

    return {name: partial(_maker, name) for name in (*harnesses(), "command", "python")}


def _maker(name: str, client: Any, sampling: Any = None, argument: str | None = None, **options: Any) -> Any:
    from gem_gateway.harnesses.policies import harness_policy

    full = name if argument is None else f"{name}:{argument}"
    return harness_policy(full, client, sampling, **options)
