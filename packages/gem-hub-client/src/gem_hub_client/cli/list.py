"""``gem hub list``."""

from __future__ import annotations

from typing import Any

import click

from gem_hub_client.catalogue import searchable
from gem_hub_client.catalogue_cache import OpenedCatalogue
from gem_hub_client.cli.output import conformance, first_load, json_option, note, print_json, show_table, warned_version
from gem_hub_client.cli.read_options import hub_option, offline_option
from gem_hub_client.config import hubs
from gem_hub_client.errors import HubError
from gem_hub_client.federated_search import query_catalogue
from gem_hub_client.sanitize import sanitize_values

__all__ = ["list_command"]


@click.command("list")
@click.option("--tag", "tags", multiple=True, help="Only packages with this tag; may be repeated.")
@hub_option
@offline_option
@json_option
def list_command(tags: tuple[str, ...], address: str | None, offline: bool, as_json: bool) -> None:
    """List the packages of the hubs.

    \b
    Examples:
      gem hub list
      gem hub list --tag logic
    """
    listed: dict[str, dict[str, Any]] = {}
    failures: list[HubError] = []

    def collect(opened: OpenedCatalogue) -> None:
        note(opened.note)
        for record in opened.catalogue.records():
            if searchable(record) and all(tag in _tags(record) for tag in tags):
                # The first hub that has a package is the one that it is installed from.
                listed.setdefault(record["name"], {"hub": opened.hub.name, **sanitize_values(record)})

    chosen = hubs(address)
    for hub in chosen:
        try:
            query_catalogue(hub, collect, offline=offline, progress=first_load())
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
