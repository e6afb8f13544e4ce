"""A set is read as it was written."""

from __future__ import annotations

from pathlib import Path

import pytest

from gem_envs_swe.errors import SweError
from gem_envs_swe.row import SweRow
from gem_envs_swe.task_set import SweSet, read_rows, read_set, write_set

SET = SweSet(
    package="p", version="1", archive_sha256="0" * 64, python="3.11.2", seed=0, maker="0.1", test_command=("pytest",),
    test_files=("tests/test_é.py",), tests=1, tasks=1,
)  # fmt: skip
ROW = SweRow(instance_id="p.bug.1", repo="p", problem_statement="wrong\u2028", patch="+é\r\n", FAIL_TO_PASS=("a[\n]",))


def test_a_set_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Its description and its rows are equal, whatever characters they have."""
    write_set(tmp_path / "set", SET, [ROW])
    assert read_set(tmp_path / "set") == SET
    assert read_rows(tmp_path / "set") == [ROW]


def test_an_unfinished_set_is_refused(tmp_path: Path) -> None:
    """A folder without its description says how to make one."""
    with pytest.raises(SweError, match="gem swe make"):
        read_set(tmp_path)


@pytest.mark.parametrize("text", ["", "{}", '{"format": 2}', "[1]"])
def test_another_description_is_refused(text: str, tmp_path: Path) -> None:
    """The error names the file."""
    (tmp_path / "set.json").write_text(text)
    with pytest.raises(SweError, match=r"set\.json"):
        read_set(tmp_path)


def test_a_damaged_row_is_named(tmp_path: Path) -> None:
    """The error has the number of its line."""
    write_set(tmp_path, SET, [ROW])
    with (tmp_path / "tasks.jsonl").open("a") as file:
        file.write('{"instance_id": 3}\n')
    with pytest.raises(SweError, match="line 2"):
        read_rows(tmp_path)
