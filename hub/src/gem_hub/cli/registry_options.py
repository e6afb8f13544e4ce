"""Options of the commands that run or administer a registry."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from gem_hub.errors import HubRefusal
from gem_hub.registry.problems import Problem
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.settings import RegistrySettings
from gem_hub.store import Store

__all__ = ["registry_command", "settings_of"]


def settings_of(config: Path | None, **changes: Any) -> RegistrySettings:
    """Return the settings of a file, or the defaults, with those changes that are not None.

    Raises:
        HubRefusal: if a value is invalid.
    """
    settings = RegistrySettings.read(config) if config is not None else RegistrySettings()
    given = {key: value for key, value in changes.items() if value is not None}
    return settings.model_copy(update=given)


def registry_command(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--hub``, ``--config`` and ``--database``, passed on as ``services``: the registry of an existing hub."""

    @click.option(
        "--hub",
        "folder",
        metavar="DIR",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path(),
        help="Folder of the hub.  [default: the current folder]",
    )
    @click.option(
        "--config",
        metavar="FILE",
        type=click.Path(dir_okay=False, exists=True, path_type=Path),
        help="Settings of the registry, in TOML.",
    )
    @click.option("--database", metavar="URL", help="Its database.  [default: a file in the hub's private folder]")
    @wraps(command)
    def with_services(*args: Any, folder: Path, config: Path | None, database: str | None, **kwargs: Any) -> Any:
        if not (folder / "root.json").is_file() and not (folder / ".gem-hub").is_dir():
            raise click.UsageError(
                f"{folder} is no hub; name one with --hub DIR, or begin one: gem hub serve --publish"
            )
        try:
            services = RegistryServices(Store(folder), settings_of(config, database=database))
            try:
                return command(*args, services=services, **kwargs)
            finally:
                services.close()
        except (HubRefusal, Problem) as error:
            raise click.ClickException(str(error)) from error

    return with_services
