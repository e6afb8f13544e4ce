"""The guide's table of trainers says what the tests run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from trainer_table import TRAINERS, Trainer

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "guides" / "trainers.md"
EXAMPLES = ROOT / "examples" / "trainers"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the guides are not part of the package")


def test_the_table_has_these_rows_and_no_others() -> None:
    """In the same order, so that a version or a test that changes changes the page."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    begin = next(place for place, line in enumerate(lines) if line.startswith("| trainer | file |"))
    end = next(place for place, line in enumerate(lines) if place > begin and not line.startswith("|"))
    assert lines[begin + 2 : end] == [trainer.row for trainer in TRAINERS]


def test_every_file_of_the_examples_has_a_row() -> None:
    """A file that no test runs stands in no table."""
    assert {trainer.file for trainer in TRAINERS} == {path.name for path in EXAMPLES.glob("*.py")}


@pytest.mark.parametrize("trainer", TRAINERS, ids=lambda one: f"{one.name}, {one.extension}")
def test_the_test_of_a_row_exists(trainer: Trainer) -> None:
    """Its driver too; the version of the table is the one that the test installs, and the one that the file names."""
    file, _, name = trainer.test.partition("::")
    tree = ast.parse((Path(__file__).parent / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    version = trainer.version.split()[-1]
    assert version in (EXAMPLES / trainer.file).read_text(encoding="utf-8")
    assert bool(trainer.driver) == bool(trainer.requires)
    if trainer.driver:
        assert (Path(__file__).parent / "trainer_drivers" / f"drive_{trainer.driver}.py").is_file()
        assert trainer.requires[0].endswith(f"=={version}")
