"""Options and helpers of the commands that change a hub."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from gem.ids import normalized_distribution
from gem_hub.accounts import account
from gem_hub.events import Event
from gem_hub.storage import files_of
from gem_hub.storage.addresses import is_bucket, open_files
from gem_hub.store import Store
from gem_hub_client.cli.output import print_json

__all__ = [
    "HubPlace",
    "any_hub_option",
    "by_option",
    "existing_hub",
    "hub_option",
    "open_store",
    "reason_option",
    "record",
]

_PULL_REQUEST = "gem_hub.pull_request"

F = TypeVar("F", bound=Callable[..., Any])


class HubPlace(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.2 on
    """The folder of a hub as a path, or the address of a bucket as a text."""

    name = "DIR"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path | str:
        if isinstance(value, str) and is_bucket(value):
            return value
        path: Path = click.Path(file_okay=False, path_type=Path).convert(value, param, ctx)
        return path


def name_argument(command: F) -> F:
    """Add the argument NAME, a package in any spelling that installers accept."""
    return click.argument("name", callback=lambda ctx, parameter, value: normalized_distribution(value))(command)


def hub_option(command: F) -> F:
    """Add ``--hub DIR``, passed on as ``store``: an existing hub in a folder or bucket; and ``--pull-request``."""
    command = click.option(
        "--pull-request",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_note_pull_request,
        help="Write one event into the checkout of an index, and nothing else.",
    )(command)
    return _store_option(_existing_hub)(command)


def any_hub_option(command: F) -> F:
    """Add ``--hub DIR``, passed on as ``store``: an existing hub, or the checkout of an index."""
    return _store_option(_hub_or_index)(command)


def _store_option(callback: Callable[..., Store]) -> Callable[[F], F]:
    return click.option(
        "--hub",
        "store",
        metavar="DIR",
        type=HubPlace(),
        callback=callback,
        help="Folder of the hub, or s3://BUCKET/FOLDER.  [default: the current folder, if it is a hub]",
    )


def by_option(command: F) -> F:
    """Add ``--by WHO``: the person that requests a change."""
    return click.option(
        "--by", metavar="WHO", default=account, show_default="your account on this machine", help="Who asks for it."
    )(command)


def reason_option(text: str) -> Callable[[F], F]:
    """Add a required ``--reason``."""
    return click.option("--reason", required=True, help=text)


def record(store: Store, event: Event, done: str, already: str, as_json: bool) -> None:
    """Add an event, or write it for a pull request, and print the result."""
    written = None
    if click.get_current_context().meta.get(_PULL_REQUEST):
        store.check_event(event)
        changed = files_of(store.folder).create(event.path, event.to_bytes())
        written = store.folder / event.path
        done = f"Wrote {written}, and nothing else. Next: commit it, and open a pull request."
    else:
        changed = store.add_event(event)
    if as_json:
        told = {**event.model_dump(mode="json", exclude={"format", "serial"}), "changed": changed}
        print_json(told if written is None else {**told, "record": str(written)})
    else:
        click.echo(done if changed else already)


def open_store(place: Path | str) -> Store:
    """Return the hub in a folder or a bucket, which may be empty.

    Raises:
        UsageError: if the place is an address in the place of a folder, which would become a folder of that name.
        HubError: if the bucket cannot hold a hub.
    """
    if isinstance(place, Path):
        _refuse_address(place)
    return Store(open_files(place))


def _refuse_address(folder: Path) -> None:
    scheme, colon, _ = str(folder).partition(":")
    if colon and len(scheme) > 1 and scheme.isalnum() and not folder.exists():
        raise click.UsageError(
            f"{folder} is an address, and this command changes a hub in a folder of this machine; name the folder. To "
            "publish into an index that others run, open a pull request: see --pull-request"
        )


def _note_pull_request(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    ctx.meta[_PULL_REQUEST] = value


def _hub_or_index(ctx: click.Context, parameter: click.Parameter, value: Path | str | None) -> Store:
    return existing_hub(ctx, value, or_index=value is not None)


def _existing_hub(ctx: click.Context, parameter: click.Parameter, value: Path | str | None) -> Store:
    return existing_hub(ctx, value, or_index=bool(ctx.meta.get(_PULL_REQUEST)))


def existing_hub(ctx: click.Context, place: Path | str | None, or_index: bool = False) -> Store:
    """Return the hub in a folder or bucket; in the current folder by default.

    Args:
        ctx: the context of the command.
        place: the folder or the address of the bucket.
        or_index: whether the checkout of an index, which has records and nothing derived, is enough.

    Raises:
        UsageError: if there is none.
    """
    store = open_store(place if place is not None else Path())
    names = store.files.names("")
    if "root.json" not in names and not (or_index and "releases" in names):
        what = f"{place} is no hub" if place is not None else "the current folder is no hub; name one with --hub DIR"
        raise click.UsageError(f"{what} (it has no root.json)", ctx)
    return store
