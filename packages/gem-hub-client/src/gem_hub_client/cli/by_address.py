"""Commands that exist for folders and for registries: the address chooses."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from gem_hub_client.config import hub_at
from gem_hub_client.errors import HubError
from gem_hub_client.registry.addresses import default_registry

__all__ = ["CommandByAddress"]


class CommandByAddress(click.Command):
    """A command of one name and two forms: for a registry over HTTP, and for a hub in a folder.

    ``--hub`` decides; without it the current folder does if it is a hub, and else the hubs in use.

    Args:
        name: the command.
        remote: its form for registries.
        local: ``module:attribute`` of its form for folders, which gem-hub brings.
    """

    def __init__(self, name: str, remote: click.Command, local: str) -> None:
        super().__init__(name, help=remote.help, short_help=remote.short_help, params=remote.params)
        self._remote = remote
        self._local = local

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of the form that the arguments choose, which click then invokes."""
        return self._chosen(args, parent).make_context(info_name, args, parent, **extra)

    def _chosen(self, args: Sequence[str], parent: click.Context | None) -> click.Command:
        named = _named_hub(args)
        if named is None:
            if _is_hub(Path()):
                return self._folder_form(parent)
            if "--help" in args or not self._folder_form_is_there() or _is_registry_in_use():
                return self._remote  # its help names the other form as well
            return self._folder_form(parent)
        try:
            remote = hub_at(named).remote
        except HubError:
            # The form for registries says what is wrong with any other address.
            remote = "://" in named and not named.startswith("s3://")
        return self._remote if remote else self._folder_form(parent)

    def _folder_form(self, parent: click.Context | None) -> click.Command:
        if not self._folder_form_is_there():
            raise click.UsageError(
                f"'gem hub {self.name}' changes a hub in a folder with gem-hub; run: pip install gem-hub. A hub over "
                "HTTP needs nothing more; name it with --hub https://…",
                parent,
            )
        module, _, attribute = self._local.partition(":")
        try:
            command: click.Command = getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise click.ClickException(f"'gem hub {self.name}' cannot be loaded for a folder: {error}") from error
        return command

    def _folder_form_is_there(self) -> bool:
        from importlib.util import find_spec

        return find_spec(self._local.partition(".")[0]) is not None


def _named_hub(args: Sequence[str]) -> str | None:
    """Return the value of ``--hub``; None without it."""
    found = None
    for number, argument in enumerate(args):
        if argument == "--":
            break
        if argument == "--hub" and number + 1 < len(args):
            found = args[number + 1]
        elif argument.startswith("--hub="):
            found = argument.partition("=")[2]
    return found


def _is_registry_in_use() -> bool:
    try:
        return default_registry() is not None
    except HubError:  # the form for registries says what is wrong with the settings
        return True


def _is_hub(folder: Path) -> bool:
    return (folder / "root.json").is_file() or (folder / "releases").is_dir()
