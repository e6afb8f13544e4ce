"""The tables of the benchmarks are those of the result files, and the comparison page repeats measured figures only."""

from __future__ import annotations

import json
import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "benchmarks" / "README.md"


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module that keeps results."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.delitem(sys.modules, "results", raising=False)
    return import_module("results")


def test_every_table_agrees_with_its_result_file(results: ModuleType) -> None:
    """The document has the tables that 'python benchmarks/results.py' writes, of every result file."""
    for document in results.DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        assert results.with_tables(text) == text
    text = README.read_text(encoding="utf-8")
    assert {match[1] for match in results.BLOCK.findall(text)} == {path.stem for path in results.FOLDER.glob("*.json")}


def test_a_changed_figure_is_noticed(results: ModuleType) -> None:
    """A table that somebody has edited is not what its result file gives."""
    text = README.read_text(encoding="utf-8")
    edited = text.replace("| **all** | 139 |", "| **all** | 140 |", 1)
    assert edited != text
    assert results.with_tables(edited) == text


def test_a_result_file_says_where_it_comes_from(results: ModuleType, tmp_path: Path) -> None:
    """Command, date, machine and versions stand in the file and below the table."""
    path = tmp_path / "some.json"
    results.write_results(path, "python x.py", ["pytest"], {"one": [["what", "figure"], ["a", "1"]]})
    shown = results.rendered(json.loads(path.read_text(encoding="utf-8")), "one")
    assert shown.startswith("| what | figure |\n|---|---|\n| a | 1 |\n")
    assert re.search(r"`python x\.py`, \d{4}-\d\d-\d\d, \d+ cores at a load of \d+, .*pytest \d", shown)


def test_the_tables_that_a_script_prints_are_kept(
    results: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each table in its order, bars in cells too; a script that fails or prints none leaves the file as it is."""
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    script = tmp_path / "script.py"
    script.write_text(
        "print('start\\n| a \\\\| b | c |\\n|---|:-:|\\n| 1 |  |\\n| 2 | 3 |\\n\\n| d |\\n|---|\\n| 4 |')",
        encoding="utf-8",
    )
    results.run("some", ["pytest"], [str(script)])
    written = (tmp_path / "some.json").read_text(encoding="utf-8")
    document = json.loads(written)
    assert document["tables"] == {"1": [["a \\| b", "c"], ["1", ""], ["2", "3"]], "2": [["d"], ["4"]]}
    assert document["command"] == f"python {script}"
    for program in ("print('| e |\\n|---|\\n| 5 |'); raise SystemExit(3)", "print('nothing')"):
        script.write_text(program, encoding="utf-8")
        with pytest.raises(SystemExit, match=r"some\.json is as it was"):
            results.run("some", ["pytest"], [str(script)])
    assert (tmp_path / "some.json").read_text(encoding="utf-8") == written


def test_a_table_without_an_origin_is_noticed(results: ModuleType) -> None:
    """A result file or a date stands above each table."""
    table = "| a | b |\n|---|---|\n| 1 | 2 |\n"
    text = f"<!-- kept by hand: 2026-11-23 -->\n\n{table}\n<!-- results: x 1 -->\n\n{table}\n<!-- end of results -->\n"
    assert not results.unmarked_tables(text)
    assert results.unmarked_tables(f"{text}\n{table}") == ["| a | b |"]
    assert results.unmarked_tables(f"<!-- kept by hand -->\n\n{table}") == ["| a | b |"]


@pytest.mark.nightly
def test_every_table_of_the_benchmarks_has_an_origin(results: ModuleType) -> None:
    """By night only, so that a table that was measured today need not wait for the form of its line."""
    assert not results.unmarked_tables(README.read_text(encoding="utf-8"))


def test_the_comparison_page_has_the_figures_of_the_result_files(results: ModuleType) -> None:
    """It is what 'python benchmarks/results.py' writes, and no figure of its table is typed."""
    text = (ROOT / "docs" / "compared.md").read_text(encoding="utf-8")
    assert results.with_tables(text) == text
    table = text.partition("## Figures")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 4
    for row in rows:
        assert results.FIGURE.search(row.split("|")[2]), row
        assert results.FIGURE.search(row.split("|")[3]), row


def test_an_edited_figure_is_noticed(results: ModuleType) -> None:
    """A figure or a date of the comparison page that somebody has edited is not what the result files give."""
    text = (ROOT / "docs" / "compared.md").read_text(encoding="utf-8")
    for pattern in (results.FIGURE, results.DATED):
        marked = pattern.search(text)
        assert marked is not None
        edited = text.replace(marked[0], f"{marked[1]}7{marked[marked.re.groups]}")
        assert edited != text
        assert results.with_tables(edited) == text


def test_a_figure_is_the_first_number_of_its_cell(results: ModuleType) -> None:
    """A row is named by how its first cell begins, unless one is exactly that; a missing one is an error."""
    table = [["", "rate"], ["a", "1,234.5 (1,000 … 2,000)"], ["a b", "7"], ["c", "none"], ["d 1", "1"], ["d 2", "2"]]
    document = {"command": "python x.py", "tables": {"1": table}}
    assert [results.figure(document, "1", row, "rate") for row in ("a", "a b")] == ["1,234.5", "7"]
    for row, column in (("e", "rate"), ("d", "rate"), ("a", "cost"), ("c", "rate")):
        with pytest.raises(SystemExit):
            results.figure(document, "1", row, column)
