"""``gem hub list``."""

from __future__ import annotations

from typing import Any

import click

from gem.cli.hub_output import conformance, first_load, note, show_table, warned_version
from gem.cli.output import json_option, print_json
from gem.errors import HubError
from gem.hub.catalogue import searchable
from gem.hub.config import hubs
from gem.hub.finding import ask
from gem.hub.opening import Opened
from gem.hub.plain import plain_values

__all__ = ["list_command"]


@click.command("list")
@click.option("--tag", "tags", multiple=True, help="Only packages with this tag; may be repeated.")
@click.option("--offline", is_flag=True, help="Ask no server; list what was loaded before.")
@json_option
def list_command(tags: tuple[str, ...], offline: bool, as_json: bool) -> None:
    """List the packages of the hubs.

    \b
    Examples:
      gem hub list
      gem hub list --tag logic
    """
    listed: dict[str, dict[str, Any]] = {}
    failures: list[HubError] = []

    def collect(opened: Opened) -> None:
        note(opened.note)
        for record in opened.catalogue.records():
            if searchable(record) and all(tag in _tags(record) for tag in tags):
                # The first hub that has a package is the one that it is installed from.
                listed.setdefault(record["name"], {"hub": opened.hub.name, **plain_values(record)})

    chosen = hubs()
    for hub in chosen:
        try:
            ask(hub, collect, offline=offline, progress=first_load())
        except HubError as error:
            failures.append(error)
            if len(failures) == len(chosen):
                raise
            note(str(error))
    if as_json:
        print_json(list(listed.values()))
        return
    if not listed:
        click.echo("The hubs have no such package; 'gem hub list' without filters shows all.")
        return
    columns = ["package", "version", "environments", "conformance", "summary"]
    several_hubs = len(chosen) > 1
    rows = []
    for record in listed.values():
        row = [record["name"], warned_version(record), str(len(record["environments"])), conformance(record)]
        rows.append([*row, record["summary"], *([record["hub"]] if several_hubs else [])])
    show_table([*columns, "hub"] if several_hubs else columns, rows)
    click.secho("\ngem hub info NAME shows one of them", dim=True)


def _tags(record: dict[str, Any]) -> set[str]:
    return {*record["tags"], *(tag for environment in record["environments"] for tag in environment["tags"])}
