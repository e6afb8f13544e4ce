"""``gem terminal snapshots``."""

from __future__ import annotations

import re
import time
from dataclasses import asdict
from pathlib import Path

import click

from gem_cli.output import json_option, print_json
from gem_terminal.engines import Engine, engine_by_name
from gem_terminal.episodes.snapshot_store import SnapshotStore, StoredSnapshot
from gem_terminal.errors import EngineError

__all__ = ["snapshots_command"]

_UNITS = {"h": 3600.0, "d": 86400.0}


@click.command("snapshots")
@click.option("--store", type=click.Path(path_type=Path, file_okay=False), help="The folder of the store.")
@click.option("--unused-for", metavar="AGE", help="Remove those not used for so long: 12h or 30d.")
@click.option("--discard", "digests", multiple=True, metavar="DIGEST", help="Remove these. Can be repeated.")
@json_option
def snapshots_command(store: Path | None, unused_for: str | None, digests: tuple[str, ...], as_json: bool) -> None:
    """List the stored snapshots of episodes, after removing some of them.

    A removal also takes what is damaged, what killed processes left, and all files that no snapshot refers to.

    \b
    Examples:
      gem terminal snapshots
      gem terminal snapshots --unused-for 30d
    """
    kept = SnapshotStore(store)
    for digest in digests:
        if not kept.has(digest):
            raise click.UsageError(
                f"there is no snapshot {digest!r} in {kept.folder}; run the command without --discard to list them"
            )
    removed = None
    if unused_for is not None or digests:
        engines = _engines(kept.entries())
        age = None if unused_for is None else _seconds(unused_for)
        removed = kept.discard(unused_for=age, digests=digests, engines=engines)
    entries = kept.entries()
    if as_json:
        print_json({"removed": removed, "snapshots": [asdict(entry) for entry in entries]})
        return
    for entry in entries:
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.last_used))
        click.echo(f"{entry.digest}  {used}  {entry.size / (1 << 20):8.1f} MiB  {entry.engine}  {entry.task}")
    click.echo(f"{len(entries)} snapshots in {kept.folder}" + ("" if removed is None else f"; {removed} removed"))


def _seconds(age: str) -> float:
    found = re.fullmatch(r"(\d+)([hd])", age)
    if found is None:
        raise click.UsageError(f"{age!r} is no age; give hours or days, as in 12h or 30d")
    return int(found[1]) * _UNITS[found[2]]


def _engines(entries: list[StoredSnapshot]) -> dict[str, Engine]:
    """Return the engines that work here and may keep files of some entries."""
    found = {}
    for name in {entry.engine for entry in entries}:
        try:
            found[name] = engine_by_name(name)
        except EngineError:  # its entries stay
            continue
    return found
