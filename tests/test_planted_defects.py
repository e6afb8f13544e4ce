"""The defects that ``benchmarks/desk_mutants.py`` plants: drawn by a seed, each another program of the same form."""

from __future__ import annotations

import ast
from pathlib import Path
from random import Random

import planted_defects
import pytest


@pytest.mark.parametrize("group", [*planted_defects.DESKS, "shared"])
def test_defects_are_drawn_by_a_seed(group: str) -> None:
    """Twenty in twenty places, of at least eight kinds; the first five are those of a smaller draw."""
    drawn = planted_defects.drawn(group, 20, Random(f"0 {group}"))
    assert len({(one.file, one.line) for one in drawn}) == 20
    assert len({one.kind for one in drawn}) >= 8
    fewer = planted_defects.drawn(group, 5, Random(f"0 {group}"))
    assert [(one.file, one.line, one.words) for one in fewer] == [(one.file, one.line, one.words) for one in drawn[:5]]


def test_a_defect_is_a_program_that_differs_in_one_place() -> None:
    """It compiles, and what it changes is one line of the source as Python writes it, or a guard that is gone."""
    for defect in planted_defects.drawn("airline", 11, Random(1)):
        source = (planted_defects.SOURCES / defect.file).read_text(encoding="utf-8")
        changed = defect.source()
        if defect.file.endswith(".md"):
            assert len(changed.split()) == len(source.split())
            continue
        before, after = ast.unparse(ast.parse(source)).splitlines(), ast.unparse(ast.parse(changed)).splitlines()
        assert before != after
        assert len(before) - len(after) in (0, 1)
        compile(changed, defect.file, "exec")


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("if a <= 1:\n    raise ValueError", {"comparison", "number", "guard left out"}),
        ("x = find(a=1) and not b", {"number", "condition"}),
        ("x = store.find('t', owner=o, status='open')", {"filter left out", "state"}),
        ("x = max(a + b, c)", {"arithmetic"}),
        ("x = rng.randint(1, 3)\ny: Literal[4]\n'''5'''", set()),
        ("x = 'SELECT * FROM t WHERE a = ? AND b = ?'", {"SQL"}),
    ],
)
def test_each_kind_has_its_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, kinds: set[str]
) -> None:
    """Limits, guards, filters, states, amounts and queries have them; draws, annotations and prose have none."""
    monkeypatch.setattr(planted_defects, "SOURCES", tmp_path)
    (tmp_path / "rules.py").write_text(source, encoding="utf-8")
    assert {defect.kind for defect in planted_defects.defects(tmp_path / "rules.py")} == kinds
