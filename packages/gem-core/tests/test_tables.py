"""Tables beside modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from gem.tables import read_table


@pytest.fixture
def module_file(tmp_path: Path) -> str:
    (tmp_path / "words.json").write_text('{"greeting": ["Grüß Gott", "\\\\b"]}', encoding="utf-8")
    (tmp_path / "patterns.toml").write_text("greeting = ['Grüß Gott', '\\b']\n", encoding="utf-8")
    return str(tmp_path / "module.py")


@pytest.mark.parametrize("name", ["words.json", "patterns.toml"])
def test_a_table_beside_a_module_is_read_by_the_format_of_its_name(module_file: str, name: str) -> None:
    """Both formats hold any text, in UTF-8."""
    assert read_table(module_file, name) == {"greeting": ["Grüß Gott", r"\b"]}


def test_a_table_of_another_format_is_refused(module_file: str) -> None:
    """What is not of the format that its name says raises ValueError."""
    Path(module_file).with_name("wrong.json").write_text("greeting = 1", encoding="utf-8")
    with pytest.raises(ValueError, match="Expecting value"):
        read_table(module_file, "wrong.json")


def test_a_table_that_is_not_there_raises_an_error(module_file: str) -> None:
    """A file that is missing from an installation is named."""
    with pytest.raises(FileNotFoundError, match=r"missing\.json"):
        read_table(module_file, "missing.json")
