"""Options of the commands that read hubs: which hub, and whether to ask its server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

__all__ = ["hub_option", "offline_option"]

F = TypeVar("F", bound=Callable[..., Any])


def hub_option(command: F) -> F:
    """Add ``--hub HUB``, passed on as ``address`` for :func:`gem_hub_client.config.hubs`."""
    return click.option("--hub", "address", metavar="HUB", help="Read this hub alone: an address or a folder.")(command)


def offline_option(command: F) -> F:
    """Add ``--offline``, passed on as ``offline``."""
    return click.option("--offline", is_flag=True, help="Ask no server; use what was read before.")(command)
