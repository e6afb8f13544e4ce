"""``gem guide``: every page of the documentation is in the wheel, and can be read."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from gem.errors import ArgumentError
from gem_cli.guide import guide_command, index_of, pages
from gem_cli.guide_search import questions_of, sections_of

PROJECT = Path(__file__).resolve().parents[1]
DOCS = PROJECT.parent.parent / "docs"

in_a_checkout = pytest.mark.skipif(not DOCS.is_dir(), reason="needs the repository, of which docs/ is a part")


@in_a_checkout
def test_every_page_is_listed() -> None:
    """With the name of its file and its first heading."""
    listed = json.loads(CliRunner().invoke(guide_command, ["--json"]).output)
    names = {path.stem for path in [*DOCS.glob("*.md"), *DOCS.glob("guides/*.md")]} - {"README"}
    assert {entry["name"] for entry in listed} == names
    assert {"name": "state-and-seeds", "title": "State and seeds"} in listed


def test_a_guide_is_printed_as_it_is() -> None:
    """Into a pipe, so that it can be searched and saved."""
    path = pages()["state-and-seeds"]
    assert CliRunner().invoke(guide_command, ["state-and-seeds"]).output == path.read_text(encoding="utf-8") + "\n"


def test_a_misspelt_name_gets_the_nearest_one() -> None:
    """The error says which guide was meant."""
    result = CliRunner().invoke(guide_command, ["state-and-seed"])
    assert isinstance(result.exception, ArgumentError)
    assert "did you mean 'state-and-seeds'?" in str(result.exception)


ASKED = [
    (line.split(" | ", 1)[1], set(line.split(" | ", 1)[0].split()))
    for line in Path(__file__).with_name("questions.txt").read_text(encoding="utf-8").splitlines()
]
"""Questions of people who had not read the documents, with the guides that answer; nothing was fitted to them."""


@in_a_checkout
def test_guides_answer_questions_in_the_words_of_users() -> None:
    """At least 36 of 40 questions have a guide that answers among the first three."""
    index = index_of(pages())
    missed = [
        question for question, answers in ASKED if not answers & {found.page for found in index.search(question)[:3]}
    ]
    assert len(ASKED) == 40
    assert set.union(*(answers for _, answers in ASKED)) <= set(pages())
    assert len(missed) <= 4, missed


@in_a_checkout
def test_every_listed_question_leads_to_its_guide() -> None:
    """The page of questions names guides that exist, each guide at least once, and finds each by its question."""
    listed = questions_of((DOCS / "questions.md").read_text(encoding="utf-8"))
    assert {page for _, page in listed} == set(pages()) - {"questions"}
    index = index_of(pages())
    for question, page in listed:
        assert page in {found.page for found in index.search(question)[:3]}, question


def test_a_question_is_answered_with_guides_and_sections() -> None:
    """In a table, or as JSON; words in any order, case and number, with or without quotes."""
    found = json.loads(CliRunner().invoke(guide_command, ["--json", "seeds", "and", "STATE"]).output)
    assert found[0]["name"] == "state-and-seeds"
    shown = CliRunner().invoke(guide_command, ["how do I save a state?"]).output
    assert "state-and-seeds" in shown.splitlines()[1]


def test_a_question_that_nothing_answers_is_an_error() -> None:
    """It names the question, and what lists the guides."""
    for question in ("qqqzzz", "\x00?🙂" * 1000):
        result = CliRunner().invoke(guide_command, [question])
        assert isinstance(result.exception, ArgumentError)
        assert "gem guide lists them" in str(result.exception)


def test_a_comment_in_a_block_of_code_is_no_heading() -> None:
    """Sections end at headings alone, and one without a text before it is none."""
    text = "# A title\n\n## First `x`\none\n```\n# no heading\n```\n### Second ##\ntwo"
    assert [(section.heading, section.text) for section in sections_of("page", text)] == [
        ("First x", "one\n```\n# no heading\n```"),
        ("Second", "two"),
    ]


@in_a_checkout
@pytest.mark.slow
def test_the_wheel_holds_the_guides(tmp_path: Path) -> None:
    """Also the wheel that is built from the source distribution."""
    pytest.importorskip("hatchling")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path)]
    subprocess.run([*build, "-t", "sdist", "-t", "wheel"], cwd=PROJECT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    expected = {f"gem_cli/guides/{name}.md" for name in pages()}
    assert expected <= set(zipfile.ZipFile(wheel).namelist())
    (source,) = tmp_path.glob("*.tar.gz")
    subprocess.run(["tar", "xzf", str(source), "-C", str(tmp_path)], check=True)
    (unpacked,) = (path for path in tmp_path.iterdir() if path.is_dir())
    wheel.unlink()
    subprocess.run([*build, "-t", "wheel"], cwd=unpacked, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert expected <= set(zipfile.ZipFile(wheel).namelist())
