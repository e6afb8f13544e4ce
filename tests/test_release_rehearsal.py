"""The rehearsal of a release, from the commit to a user who plays and a result on the hub."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("git") is None, reason="a release is built from a commit: git is not installed")
def test_a_release_is_installed_played_and_found_with_its_result() -> None:
    """The card's two packages are installed from an index, and the signed hub shows the user's result."""
    command = [sys.executable, ROOT / "dev.py", "release", "rehearse"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    searched, _, recorded = done.stdout.partition("pip install gem-eval")
    assert "game:Sudoku-v0" in searched  # what gem hub search sudoku finds with the card's two packages
    assert "signed with" in recorded  # what gem hub verify says of the derived index
    results = recorded[recorded.index("game:GuessTheNumber-v0-easy · ") :]  # gem hub info --results
    assert "wheel " in results
    assert "reference  scripted" in results
