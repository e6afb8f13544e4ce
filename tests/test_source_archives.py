"""Source archives hold what their packages are built from, and nothing that works in this repository alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PROJECTS = sorted([*ROOT.glob("packages/*/pyproject.toml"), ROOT / "hub/pyproject.toml"])


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.parent.name)
def test_a_source_archive_ships_no_tests(project: Path) -> None:
    """They take fixtures, options and settings from the root of the repository, which no archive has."""
    targets = tomllib.loads(project.read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    included = targets["sdist"]["include"]
    assert "src" in included
    assert not [name for name in included if name.startswith("tests")]
