"""``gem guide``: the guides, and which of them answers a question, without a network."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gem.errors import ArgumentError
from gem_cli.output import Table, json_option, print_json

if TYPE_CHECKING:
    from gem_cli.guide_search import GuideIndex

__all__ = ["guide_command", "index_of", "pages"]

_PACKAGE = Path(__file__).resolve().parent
_QUESTIONS = "questions"
"""The guide that lists questions and what answers them."""
_SHOWN = 5
_MISSPELT = 0.85
"""The likeness to the name of a guide from which on a question is taken for it."""


@click.command("guide")
@click.argument("question", metavar="[NAME|QUESTION]", nargs=-1)
@json_option
def guide_command(question: tuple[str, ...], as_json: bool) -> None:
    """Show a guide, find those that answer a question, or list all.

    They are those of the installed version, and their examples are run by its tests.

    \b
    Examples:
      gem guide                         list the guides
      gem guide first-environment       read one
      gem guide rewards | less          as Markdown
      gem guide how do I resume a run   find the guides that answer
    """
    found = pages()
    name = " ".join(question)
    if not name:
        titles = {page: _title(path) for page, path in found.items()}
        if as_json:
            print_json([{"name": page, "title": title} for page, title in titles.items()])
            return
        Table(("guide", "title"), rows=list(titles.items())).show()
        return
    if name not in found:
        if similar := get_close_matches(name, found, 1, _MISSPELT):
            raise ArgumentError(f"there is no guide {name!r}; did you mean {similar[0]!r}?")
        _answer(name, found, as_json)
        return
    text = found[name].read_text(encoding="utf-8")
    if as_json:
        print_json({"name": name, "title": _title(found[name]), "text": text})
    elif sys.stdout.isatty():
        click.echo_via_pager(text)
    else:
        click.echo(text)


def _answer(question: str, found: Mapping[str, Path], as_json: bool) -> None:
    """Print the guides that answer a question best."""
    best = index_of(found).search(question)[:_SHOWN]
    if not best:
        raise ArgumentError(f"no guide has a word of {question!r}; gem guide lists them")
    if as_json:
        print_json([{"name": page, "section": section, "title": _title(found[page])} for page, section, _ in best])
        return
    Table(
        ("guide", "section", "title"), rows=[(page, section, _title(found[page])) for page, section, _ in best]
    ).show()


def index_of(found: Mapping[str, Path]) -> GuideIndex:
    """Return an index of guides, with the questions of the guide ``questions``."""
    from gem_cli.guide_search import GuideIndex, questions_of

    texts = {page: path.read_text(encoding="utf-8") for page, path in found.items()}
    return GuideIndex(texts, questions_of(texts.pop(_QUESTIONS, "")))


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
