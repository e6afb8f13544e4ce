"""``gem hub publish``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from gem_hub.cli.options import HubPlace, by_option, open_store
from gem_hub.installer_index import installer_index
from gem_hub.policy import HubPolicy
from gem_hub.publishing import Attempt, Destination, add_record, examine_all, publish, read_file
from gem_hub.refusal import Refusal
from gem_hub.storage import HubFolder
from gem_hub.store import Store
from gem_hub_client.cli.output import json_option, print_json
from gem_hub_client.project_wheel import wheels_of

__all__ = ["publish_command"]

_MOST_SHOWN = 20


@click.command("publish")
@click.argument("wheels", metavar="WHEEL|PROJECT...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--hub",
    "folder",
    metavar="DIR",
    type=HubPlace(),
    help="Folder of the hub, or s3://BUCKET/FOLDER; a new one is made.  [default: the current folder, if it is a hub]",
)
@click.option("--url", metavar="URL", default="", help="Where the wheel lies on another index: the hub links to it.")
@click.option(
    "--pull-request",
    is_flag=True,
    help="Write one record into the checkout of an index, and nothing else. Needs --url.",
)
@by_option
@click.option("--dry-run", is_flag=True, help="Check everything, publish nothing.")
@click.option("--no-check", is_flag=True, help="Do not run the conformance kit; the catalogue will say so.")
@click.option(
    "--report",
    "record",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Take this conformance record instead of running the kit.",
)
@click.option("--find-links", metavar="PLACE", multiple=True, help="Folder or page of wheels with dependencies.")
@click.option("--index-url", metavar="URL", default="", help="Index of dependencies.  [default: as pip or uv has it]")
@click.option(
    "--timeout", type=click.FloatRange(min=1), default=1800.0, show_default=True, help="Seconds the kit may take."
)
@click.option("--require-sandbox", is_flag=True, help="Refuse to run the kit where nothing keeps its code apart.")
@click.option(
    "--public-index",
    metavar="URL",
    default="",
    help="Look up new names in this index, to refuse its own; 'auto' for the one that pip or uv use on this machine.",
)
@json_option
def publish_command(
    wheels: tuple[Path, ...],
    folder: Path | str | None,
    url: str,
    pull_request: bool,
    by: str,
    dry_run: bool,
    no_check: bool,
    record: Path | None,
    find_links: tuple[str, ...],
    index_url: str,
    timeout: float,
    require_sandbox: bool,
    public_index: str,
    as_json: bool,
) -> None:
    """Publish wheels of environment packages.

    Each wheel passes a gate that only reads it, then the conformance kit in an empty environment without network, and
    is published if both have nothing against it. Nothing is ever overwritten; publishing the same file again does
    nothing. Exit code 1 if a wheel is refused; then none is published. Of a PROJECT, a folder with a pyproject.toml,
    the wheel is built first, into its dist.

    \b
    Examples:
      gem hub publish dist/*.whl --hub /srv/hub
      gem hub publish my-envs --hub /srv/hub
      gem hub publish dist/my_envs-0.2.0-py3-none-any.whl --dry-run --hub /srv/hub
      gem hub publish dist/*.whl --pull-request --hub hub/index --url https://files.example/my_envs-0.2.0-….whl
    """
    if not wheels:
        raise click.UsageError("name a wheel, for example: gem hub publish dist/*.whl")
    if (url or pull_request or record is not None) and len(wheels) > 1:
        raise click.UsageError(f"--url, --report and --pull-request are about one wheel, and {len(wheels)} are named")
    if pull_request and not url:
        raise click.UsageError("an index that takes pull requests links to wheels; say where it lies with --url")
    store = _hub(folder, new=not pull_request)
    if public_index == "auto":
        public_index = installer_index()
    destination = Destination(store, by, HubPolicy.of(store.files), url, public_index)
    found = wheels_of(wheels)
    attempts = examine_all(((path.name, read_file(path), path) for path in found), destination)
    if not any(attempt.stage == "refused" for attempt in attempts):
        attempts = [
            _checked(one, destination, no_check, record, find_links, index_url, timeout, require_sandbox)
            for one in attempts
        ]
    refused = any(attempt.stage == "refused" for attempt in attempts)
    written: Path | None = None
    if not refused and not dry_run and pull_request:
        attempt, written = add_record(attempts[0], destination)
        attempts = [attempt]
    elif not refused and not dry_run:
        attempts = publish(attempts, destination, _say)
    if as_json:
        print_json(
            {
                "hub": store.files.address,
                "dry_run": dry_run,
                "record": None if written is None else str(written),
                "wheels": [attempt.to_dict() for attempt in attempts],
            }
        )
    else:
        _show(attempts, store, written)
    if refused:
        raise click.exceptions.Exit(1)


def _hub(place: Path | str | None, new: bool) -> Store:
    store = open_store(place if place is not None else Path())
    names = store.files.names("")
    if "root.json" in names or "releases" in names:
        return store
    if place is None:
        raise click.UsageError("the current folder is no hub (it has no root.json); name one with --hub DIR")
    if not new or names:
        raise click.UsageError(f"{place} is no hub (it has no root.json); name one, or an empty folder for a new one")
    return store


def _checked(
    attempt: Attempt,
    destination: Destination,
    no_check: bool,
    record: Path | None,
    find_links: tuple[str, ...],
    index_url: str,
    timeout: float,
    require_sandbox: bool,
) -> Attempt:
    """Run the kit on a wheel, or use an existing record."""
    if no_check or not attempt.wants_check:
        return attempt
    from gem_hub.conformance import check, judge
    from gem_hub.installation import Sources
    from gem_hub.sandbox import Bounds, isolation

    if record is not None:
        return attempt.after(judge(record, attempt.verdict, destination.policy))
    if require_sandbox and isolation() == "none":
        raise click.ClickException(
            "nothing here keeps a stranger's code apart; use a Linux machine where users may make namespaces"
        )
    sources = Sources(tuple(find_links), index_url)
    name = attempt.verdict.filename
    bounds = Bounds(seconds=timeout)
    checked = check(
        attempt.verdict,
        attempt.content,
        sources,
        bounds,
        destination.policy,
        report=lambda what: _say(f"{name}: {what}"),
    )
    return attempt.after(checked)


def _say(what: str) -> None:
    click.secho(f"{what} …", dim=True, err=True)


def _show(attempts: list[Attempt], store: Store, written: Path | None) -> None:
    for attempt in attempts:
        click.secho(attempt.verdict.filename, bold=True)
        _show_gate(attempt)
        _show_conformance(attempt)
        if attempt.stage in ("published", "already published"):
            _line(attempt.stage, f"in {store.files.address}", "green")
    refused = [attempt for attempt in attempts if attempt.stage == "refused"]
    click.echo()
    if refused:
        click.secho("Nothing was published. Correct what is listed, rebuild the wheel and try again.", fg="red")
    elif written is not None:
        click.echo(f"Wrote {written}, and nothing else. Next: git add {written}, commit, and open a pull request.")
    elif all(attempt.stage == "passed" for attempt in attempts):
        click.echo("Everything passed; nothing was published, as --dry-run asks.")
    else:
        names = " ".join(attempt.verdict.wheel.name for attempt in attempts if attempt.verdict.wheel is not None)
        place = store.folder.resolve() if isinstance(store.files, HubFolder) else "https://… (the bucket's web address)"
        click.echo(f"Install with: GEM_HUB={place} gem hub install {names}")


def _show_gate(attempt: Attempt) -> None:
    verdict = attempt.verdict
    if verdict.refusals:
        count = len(verdict.refusals)
        _line("gate", f"refused, for {count} reason{'' if count == 1 else 's'}; nothing of it was run", "red")
        _show_reasons(verdict.refusals)
    elif verdict.wheel is not None:
        files, environments = len(verdict.wheel.archive.entries), len(verdict.specs)
        _line("gate", f"passed: {files} files, {environments} environments and variants", "green")
    for warning in verdict.warnings:
        _line("warning", str(warning), "yellow")


def _show_conformance(attempt: Attempt) -> None:
    checked = attempt.checked
    if checked is None:
        if attempt.wants_check or attempt.stage == "published":
            _line("conformance", "not checked, and the catalogue will say so", "yellow")
        return
    apart = {None: "checked elsewhere", "none": "WITHOUT a sandbox"}.get(checked.isolation, f"in {checked.isolation}")
    if checked.record is not None:
        counts = checked.event(attempt.verdict, "-").counts()
        told = f"{counts['holds']} clauses hold, {counts['violated']} violated, {counts['not_tested']} not tested"
        text = f"{'refused' if checked.refusals else 'passed'}: {told} (gem-core {counts['gem_core']}, {apart})"
        _line("conformance", text, "red" if checked.refusals else "green")
    else:
        _line("conformance", f"refused ({apart})", "red")
    _show_reasons(checked.refusals)
    for warning in checked.warnings[:_MOST_SHOWN]:
        _line("warning", str(warning), "yellow")


def _show_reasons(reasons: Iterable[Refusal]) -> None:
    """Print each sentence once, with the places where it applies."""
    together: dict[str, list[str]] = {}
    for reason in reasons:
        together.setdefault(reason.message, []).append(reason.where)
    for number, (message, places) in enumerate(together.items()):
        if number == _MOST_SHOWN:
            click.echo(f"    and {len(together) - number} more; --json lists them all")
            break
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        click.echo(f"    {click.style('•', fg='red')} {places[0]}{more}{': ' if places[0] else ''}{message}")


def _line(label: str, text: str, colour: str) -> None:
    click.echo(f"  {click.style(f'{label:<12}', fg=colour)} {text}")
