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
from gem_cli.guide import guide_command, pages

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
