"""``gem hub search``."""

from __future__ import annotations

from typing import Any

import click

from gem_hub_client.catalogue_cache import ago
from gem_hub_client.cli.output import (
    conformance,
    first_load,
    install_line,
    json_option,
    note,
    print_json,
    several,
    show_table,
    warned_version,
)
from gem_hub_client.cli.read_options import hub_option, offline_option
from gem_hub_client.federated_search import FoundPackage, SearchResults, search_hubs
from gem_hub_client.filters import Filters
from gem_hub_client.lexicon import controlled_tags
from gem_hub_client.sanitize import sanitize
from gem_hub_client.typo import nearest

__all__ = ["search_command"]

MODALITIES = ("text", "image", "audio", "video")
_OLD = 60.0
"""Seconds after which an answer says how old it is."""
_ENVIRONMENTS = 4
"""Ids that a row of the table shows."""


@click.command("search")
@click.argument("query", nargs=-1)
@click.option("--namespace", metavar="NAME", default="", help="Only ids that begin with NAME and a colon.")
@click.option("--domain", metavar="NAME", multiple=True, help="Only this subject, such as code or medicine.")
@click.option("--skill", metavar="NAME", multiple=True, help="Only what demands it, such as planning or tool-use.")
@click.option("--modality", type=click.Choice(MODALITIES), multiple=True, help="Only observations with it.")
@click.option("--turns", type=click.Choice(["single", "multi"]), default=None, help="Only one turn, or several.")
@click.option("--needs", metavar="NAME", multiple=True, help="Only what needs it, such as docker or gpu.")
@click.option("--needs-no", metavar="NAME", multiple=True, help="Only what does without it.")
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="Packages at most.")
@hub_option
@offline_option
@json_option
@click.pass_context
def search_command(
    ctx: click.Context,
    query: tuple[str, ...],
    namespace: str,
    domain: tuple[str, ...],
    skill: tuple[str, ...],
    modality: tuple[str, ...],
    turns: str | None,
    needs: tuple[str, ...],
    needs_no: tuple[str, ...],
    limit: int,
    address: str | None,
    offline: bool,
    as_json: bool,
) -> None:
    """Search the hubs for packages and environments.

    It searches names, environment ids, tags and descriptions, knows word families and the field's synonyms, and
    corrects mistyped words. Each filter narrows the answer to environments that meet it, also when it is repeated; with
    a filter, QUERY may be left out. It needs no network for a catalogue that was loaded before, nor for the official
    index as of the build of this client.

    \b
    Examples:
      gem hub search sudoku
      gem hub search capture the flag --needs-no docker
      gem hub search geometry --modality image --turns single
      gem hub search --domain medicine --skill dialogue
      gem hub search game:Wordle-v0 --json
    """
    filters = Filters(needs, needs_no, modality, domain, skill, namespace.removesuffix(":"), turns or "")
    text = " ".join(query)
    if not text.strip() and not filters:
        raise click.UsageError(
            "name what to search for, or a filter, for example: gem hub search sudoku; "
            "'gem hub list' shows all there is"
        )
    results = search_hubs(text, limit, filters=filters, offline=offline, only=address, progress=first_load())
    for status in results.statuses:
        note(status.note)
    if as_json:
        print_json(_as_json(text, filters, results))
        ctx.exit(0 if results.hits else 1)
    if not results.hits:
        raise click.ClickException(_nothing(text, filters, results))
    for typed, taken in results.corrected.items():
        note(f"nothing has {typed!r}; this is what has {taken!r}")
    _show(results)
    for status in results.statuses:
        if status.hub.remote and not status.note and (status.age or 0.0) >= _OLD:
            asked = f"{status.hub.name} was asked {ago(status.age)}; 'gem hub update' loads what is new"
            click.secho(sanitize(asked), dim=True)


def _nothing(text: str, filters: Filters, results: SearchResults) -> str:
    """Return a sentence on a search without hits: what was meant by an unknown filter or word, as far as is known."""
    for option, values in (("domain", filters.domain), ("skill", filters.skill)):
        known = controlled_tags(option)
        for value in values:
            if value.casefold() not in known:
                hint = nearest(value.casefold(), known)
                advice = f"did you mean {hint!r}?" if hint else f"there are {', '.join(sorted(known))}"
                return f"no environment has --{option} {sanitize(value)[:100]}; {advice}"
    everything = "'gem hub list' shows all there is, 'gem hub update' loads what is new"
    hint = f"; did you mean {results.nearest!r}?" if results.nearest else f"; {everything}"
    if filters:
        hint = "; try fewer filters"
    return f"no package or environment fits {sanitize(text)[:100]!r}{' and the filters' if filters else ''}{hint}"


def _show(results: SearchResults) -> None:
    several_hubs = len(results.statuses) > 1
    columns = ["package", "version", "environments", "conformance", "needs", "install"]
    rows = []
    for found in results.hits:
        record = found.hit.record
        ids = [environment["id"] for environment in found.hit.environments]
        row = [
            record["name"],
            warned_version(record),
            several(ids, _ENVIRONMENTS) or "none",
            conformance(record),
            ", ".join(_needs(found)) or "nothing",
            install_line(record),
        ]
        rows.append([*row, found.hub.name] if several_hubs else row)
    show_table([*columns, "hub"] if several_hubs else columns, rows, whole=["install"])


def _needs(found: FoundPackage) -> list[str]:
    return list(dict.fromkeys(need for environment in found.hit.environments for need in environment["requires"]))


def _as_json(text: str, filters: Filters, results: SearchResults) -> dict[str, Any]:
    return {
        "query": text,
        "filters": filters.to_dict(),
        "corrected": results.corrected,
        "nearest": results.nearest,
        "hubs": [
            {"name": s.hub.name, "serial": s.serial, "created": s.created, "age_seconds": s.age, "note": s.note}
            for s in results.statuses
        ],
        "packages": [
            {
                "hub": found.hub.name,
                "install": install_line(found.hit.record),
                **found.hit.record,
                "environments": list(found.hit.environments),
                "needs": _needs(found),
            }
            for found in results.hits
        ],
    }
