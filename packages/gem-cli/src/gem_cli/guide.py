"""``gem guide``: the guides, without a network."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gem.arguments import nearest
from gem.errors import ArgumentError
from gem_cli.output import Table, json_option, print_json

__all__ = ["guide_command", "pages"]

_PACKAGE = Path(__file__).resolve().parent


@click.command("guide")
@click.argument("name", required=False)
@json_option
def guide_command(name: str | None, as_json: bool) -> None:
    """Show a guide, or list the guides.

    They are those of the installed version, and their examples are run by its tests.

    \b
    Examples:
      gem guide                         list the guides
      gem guide first-environment       read one
      gem guide rewards | less          as Markdown
    """
    found = pages()
    if name is None:
        titles = {page: _title(path) for page, path in found.items()}
        if as_json:
            print_json([{"name": page, "title": title} for page, title in titles.items()])
            return
        Table(("guide", "title"), rows=list(titles.items())).show()
        return
    if name not in found:
        similar = nearest(name, found)
        hint = f"did you mean {similar!r}?" if similar else "gem guide lists them"
        raise ArgumentError(f"there is no guide {name!r}; {hint}")
    text = found[name].read_text(encoding="utf-8")
    if as_json:
        print_json({"name": name, "title": _title(found[name]), "text": text})
    elif sys.stdout.isatty():
        click.echo_via_pager(text)
    else:
        click.echo(text)


def pages() -> dict[str, Path]:
    """Return the guides by name: those in the wheel, or in a checkout those of the repository."""
    folders = [_PACKAGE / "guides"]
    # A wheel puts the package into site-packages; beside anything else, a folder docs/ may be anybody's.
    if _PACKAGE.parts[-4:-1] == ("packages", "gem-cli", "src"):
        docs = _PACKAGE.parents[3] / "docs"
        folders = [docs / "guides", docs]
    found = {path.stem: path for folder in reversed(folders) for path in folder.glob("*.md")}
    return {name: found[name] for name in sorted(found) if name != "README"}


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as lines:
        return next((line.removeprefix("# ").strip() for line in lines if line.startswith("# ")), path.stem)
