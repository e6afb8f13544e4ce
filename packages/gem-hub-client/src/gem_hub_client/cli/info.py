"""``gem hub info``."""

from __future__ import annotations

from typing import Any

import click

from gem_hub_client.cli.output import (
    conformance,
    install_line,
    json_option,
    note,
    print_json,
    several,
    show_table,
    warned_version,
)
from gem_hub_client.cli.read_options import hub_option, offline_option
from gem_hub_client.config import Hub, hubs
from gem_hub_client.errors import HubError
from gem_hub_client.pages import Page, find_page
from gem_hub_client.sanitize import sanitize, sanitize_values

__all__ = ["info_command", "provider"]


@click.command("info")
@click.argument("name")
@hub_option
@offline_option
@click.option("--results", is_flag=True, help="Show the results of agents instead, compared seed by seed.")
@json_option
def info_command(name: str, address: str | None, offline: bool, results: bool, as_json: bool) -> None:
    """Show everything about a package.

    NAME is a package, or the id of an environment.

    \b
    Examples:
      gem hub info gem-envs-games
      gem hub info game:Sudoku-v0
      gem hub info game:Sudoku-v0-easy --results
    """
    chosen = hubs(address)
    found = find_page(provider(name, chosen, offline) if ":" in name else name, chosen, offline=offline)
    note(found.note)
    if results:
        from gem_hub_client.cli.results_table import show_results
        from gem_hub_client.results.listed import read_results

        show_results(list(read_results(found, name if ":" in name else "")), as_json)
        return
    record, page = sanitize_values(found.record), sanitize_values(found.page)
    if as_json:
        print_json({"hub": found.hub.name, "install": install_line(record), **page})
    else:
        _show(found.hub, record, page)


def provider(identity: str, chosen: tuple[Hub, ...], offline: bool) -> str:
    """Return the package that offers an environment; the first hub that has one decides."""
    from gem_hub_client.federated_search import query_catalogue
    from gem_hub_client.ids import base_id

    base = base_id(identity)
    for hub in chosen:
        found = query_catalogue(hub, lambda opened: opened.catalogue.providers(base), offline=offline)
        if found:
            return found[0]
    raise HubError(f"no package offers {identity!r}; search for a word of it: gem hub search {identity}")


def _show(hub: Hub, record: dict[str, Any], page: Page) -> None:
    release = next(entry for entry in page["releases"] if entry["version"] == record["version"])
    click.secho(f"{record['name']} {warned_version(record)}", bold=True)
    click.echo(record["summary"])
    if record["reason"]:
        click.secho(f"{record['status']}: {record['reason']}", fg="yellow")
    click.echo()
    facts = {
        "hub": hub.name,
        "owners": ", ".join(page.get("owners") or []) or "not said",
        "published": _published(release),
        "publisher": release.get("publisher") or "not said",
        "licence": record["licence"] or "not said",
        "needs Python": record["requires_python"] or "any",
        "needs gem-core": record["requires_gem_core"] or "any",
        "conformance": conformance(record),
        "statement": statement_sentence(hub, record, release),
        "attested by": _publishers(release),
        "file": f"{release.get('filename') or 'none'}",
        "sha256": release.get("sha256") or "none",
    }
    for name, value in facts.items():
        click.echo(f"{click.style(f'{name:<16}', dim=True)}{value}")
    click.echo()
    show_table(
        ["environment", "variants", "turns", "needs", "description"],
        [
            [
                environment["id"],
                several(environment["variants"], 6),
                str(environment.get("turns", "")),
                ", ".join(environment["requires"]),
                environment["description"],
            ]
            for environment in record["environments"]
        ],
    )
    click.echo()
    show_table(
        ["release", "published", "licence", "yanked"],
        [
            [entry["version"], _published(entry), entry.get("licence") or "not said", entry.get("yanked") or ""]
            for entry in page["releases"][:10]
        ],
    )
    click.secho(f"\nInstall it: {install_line(record)}", dim=True)


def _publishers(release: dict[str, Any]) -> str:
    """Return who attested a release according to the hub, which verified it; ``gem hub attestations`` does so again."""
    bundles = (release.get("provenance") or {}).get("attestation_bundles") or []
    publishers = [bundle.get("publisher") or {} for bundle in bundles]
    told = [" ".join(str(value) for value in publisher.values() if value is not None) for publisher in publishers]
    return f"{'; '.join(told)} (to verify it: gem hub attestations)" if told else "nobody"


def statement_sentence(hub: Hub, record: dict[str, Any], release: dict[str, Any]) -> str:
    """Return what the hub has signed about the conformance of a release, after a check of the signature."""
    from gem_hub_client.trust.statements import contradiction, read_statement
    from gem_hub_client.trust.status import trusted_root_of

    counts = record.get("conformance") or {}
    envelopes = [one for one in release.get("conformance_statements") or [] if one is not None]
    if counts.get("source") != "hub" or not envelopes:
        return "none signed by the hub"
    root = trusted_root_of(hub)
    if root is None:
        return "signed, and no key of this hub is known to check it with"
    problem = ""
    for envelope in reversed(envelopes):
        try:
            statement = read_statement(envelope, root.roles["timestamp"].keys)
            problem = contradiction(statement, str(release.get("sha256")), counts)
        except HubError as error:
            problem = str(error)
        if not problem:
            worth = " (a development key, which proves nothing)" if root.development else ""
            return sanitize(f"signed by the hub, verified{worth}: {statement}")
    return sanitize(f"NOT VERIFIED: {problem}")


def _published(release: dict[str, Any]) -> str:
    if release.get("mode") == "source":
        return "not yet"
    return str(release.get("published") or "at an unknown time")
