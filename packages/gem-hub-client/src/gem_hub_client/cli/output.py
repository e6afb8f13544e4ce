"""Common output of the ``gem hub`` commands: tables, cells on packages, notes and progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gem_hub_client.official import in_checkout
from gem_hub_client.sanitize import sanitize
from gem_hub_client.terminal_table import Table
from gem_hub_client.trust.attack_counts import COUNTS, audit_text

if TYPE_CHECKING:
    from gem_hub_client.sync import Progress

__all__ = [
    "ProgressLine",
    "conformance",
    "first_load",
    "install_line",
    "json_option",
    "note",
    "print_json",
    "several",
    "show_table",
    "warned_version",
]

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    """Add ``--json`` to a command, passed on as ``as_json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(command)


def print_json(value: Any) -> None:
    """Print a value as indented JSON."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


class ProgressLine:
    """A progress bar on stderr, which is silent where stderr is no terminal.

    ::

        with ProgressLine("loading") as line:
            line.update(done, total)

    Args:
        label: the words in front of it.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._note = ""
        self._done = 0
        self._bar: Any = None

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.render_finish()

    def advance(self, by: int, total: int | None = None, note: str = "") -> None:
        """Show that ``by`` more units are done."""
        self._done += by
        self.update(self._done, total, note)

    def update(self, done: int, total: int | None = None, note: str = "") -> None:
        """Show that ``done`` of ``total`` units are done, with a note behind the bar."""
        if not sys.stderr.isatty():
            return
        self._note = note
        if self._bar is None:
            self._bar = click.progressbar(
                length=total or 0, label=self._label, file=sys.stderr, item_show_func=lambda _: sanitize(self._note)
            )
            self._bar.render_progress()
        self._bar.length = total
        self._bar.update(done - self._bar.pos, note)


def show_table(columns: Sequence[str], rows: Sequence[Sequence[str]], whole: Collection[str] = ()) -> None:
    """Print a table; no cell of the columns in ``whole``, which hold commands to copy, is broken."""
    Table(tuple(columns), rows=[tuple(cells) for cells in rows], whole=whole).show(end="\n")


def note(text: str) -> None:
    """Print a note for the user on stderr, apart from the output."""
    if text:
        click.secho(f"Note: {sanitize(text)}", fg="yellow", err=True)


def first_load() -> Progress:
    """Return a progress report that says one sentence when something long begins."""
    said = False

    def report(what: str, done: int, total: int) -> None:
        nonlocal said
        if not said and total > 200_000:
            said = True
            note(f"loading the catalogue for the first time, {total / 1e6:.1f} MB")

    return report


def install_line(record: dict[str, Any]) -> str:
    """Return the command that installs a package."""
    if record.get("mode") == "source":  # the hub lists no file of it
        return (
            f"pip install ./{sanitize(str(record.get('source')))}" if in_checkout() else f"pip install {record['name']}"
        )
    return f"gem hub install {record['name']}"


def conformance(record: dict[str, Any]) -> str:
    """Return the result of the conformance kit in a few words."""
    counts = record.get("conformance")
    if not counts:
        return "not tested" if record.get("environments") else "a library"
    violated = counts.get("violated", 0)
    kept = f"{violated} violated" if violated else f"{counts.get('holds', 0)} hold"
    source = "run by the hub" if counts.get("source") == "hub" else "the author says"
    attacks = counts.get("attacks")
    audited = f", {audit_text(attacks)}" if isinstance(attacks, dict) and attacks.keys() >= set(COUNTS) else ""
    return f"{kept}{audited} (gem-core {counts.get('gem_core', '?')}, {source})"


def warned_version(record: dict[str, Any]) -> str:
    """Return a package's version, with its status where that is a reason to think twice."""
    status = record.get("status") or "active"
    return record["version"] if status == "active" else f"{record['version']} ({status})"


def several(items: Iterable[str], most: int) -> str:
    """Return items in one line, and how many more there are than ``most``."""
    known = list(items)
    more = [f"… {len(known) - most} more"] if len(known) > most else []
    return ", ".join([*known[:most], *more])
