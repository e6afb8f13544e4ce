"""The fragments of the changelog, one a change."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def draft(root: Path) -> subprocess.CompletedProcess[str]:
    """Show what the next release would add to the changelog."""
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9.9"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The fragments and their settings, for a test to break."""
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "changelog.d", tmp_path / "changelog.d")
    return tmp_path


def test_the_fragments_make_a_section() -> None:
    """Every fragment stands in the draft of the next release."""
    done = draft(ROOT)
    assert done.returncode == 0, done.stderr
    for fragment in (ROOT / "changelog.d").glob("+*.md"):
        text = " ".join(fragment.read_text(encoding="utf-8").split())
        assert text, fragment
        assert text in " ".join(done.stdout.split()), fragment
    assert "<!-- towncrier release notes start -->" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["+thing.add.md", "thing.md", "+thing.txt"])
def test_a_fragment_of_no_known_type_is_an_error(copy: Path, name: str) -> None:
    """A misspelt type is not left out in silence."""
    (copy / "changelog.d" / name).write_text("A thing.\n", encoding="utf-8")
    done = draft(copy)
    assert done.returncode != 0
    assert name in done.stdout + done.stderr


def test_names_of_fragments_say_what_changed() -> None:
    """A fragment is called +SLUG.TYPE.md, so that two changes never write one file."""
    names = [path.name for path in (ROOT / "changelog.d").iterdir() if path.name != "README.md"]
    assert not [name for name in names if not re.fullmatch(r"\+[a-z0-9-]+\.(added|changed|fixed|removed)\.md", name)]
