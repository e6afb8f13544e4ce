"""The commands that are meant to work outside Linux do without what Windows lacks: modules, functions, file names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run_like_windows(*commands: str) -> None:
    """Run commands, all of them unless some are given, with a view of the system like that of Windows."""
    arguments = [sys.executable, ROOT / "devtools" / "elsewhere.py", "--like-windows", *commands]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_evaluation_needs_nothing_that_windows_lacks() -> None:
    """It writes a run folder, locks it where that is possible, and prints results."""
    run_like_windows("gem eval game:GuessTheNumber-v0-easy --agent reference -n 2 --out runs/a")


@pytest.mark.nightly
def test_no_command_needs_what_windows_lacks() -> None:
    """Of those that the workflow runs on Windows and macOS."""
    run_like_windows()


def test_what_windows_lacks_is_noticed() -> None:
    """A module of GEM that asks for it, and a file name that Windows forbids, fail; other modules are left alone."""
    code = "import os, pwd, runpy, sys; runpy.run_path(sys.argv[1])['like_windows'](); "
    source = "import os\n{line}\n"
    for line, error in (
        ("import fcntl", "ModuleNotFoundError"),
        ("os.O_CLOEXEC", "AttributeError"),
        ("os.mkdir('a:b')", "AssertionError"),
        ("import signal; signal.SIGKILL", "AttributeError"),
        ("import sys; assert (os.name, sys.platform) == ('nt', 'win32')", ""),
    ):
        run = f"exec({source.format(line=line)!r}, {{'__name__': 'gem.x'}}); import fcntl; os.O_CLOEXEC"
        command = [sys.executable, "-c", code + run, ROOT / "devtools" / "elsewhere.py"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (error in done.stderr) if error else done.returncode == 0, (line, done.stderr)
