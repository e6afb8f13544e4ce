"""Ordinary programs behave in the sandbox as with ``python file.py``."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from gem_tools.sandbox import Limits, Sandbox, SandboxError, SandboxWarning
from gem_tools.sandbox.inside import execution

DATA = json.loads(Path(__file__).with_name("ordinary_programs.json").read_text(encoding="utf-8"))
PROGRAMS: dict[str, str] = {name: "\n".join(lines) for name, lines in DATA["programs"].items()}
HERE: dict[str, dict[str, str]] = DATA["different"]
"""The mode of the sandbox → programs that it runs in another way than ``python file.py``, and why."""
FEW = (
    "own file",
    "importing an own module",
    "finalizers in a circle",
    "process and queue",
    "shared memory",
    "semaphores",
    "uncaught error",
)
"""Those that the main tier tests."""


def compare(mode: str, names: list[str], folder: Path) -> dict[str, str]:
    """Return the programs whose output or exit code differs, and how."""
    different = {}
    with Sandbox(mode, Limits(seconds=60.0, open_files=256)) as sandbox:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SandboxWarning)
                sandbox.run("1")
        except SandboxError as error:
            pytest.skip(f"NOT TESTED, {mode}: {error}")
        for name in names:
            place = folder / name.replace(" ", "-").replace("/", "-")
            place.mkdir()
            (place / "file.py").write_text(PROGRAMS[name])
            plain = subprocess.run(
                [sys.executable, "file.py"],
                cwd=place,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env={**os.environ, "PYTHONUNBUFFERED": ""},
                check=False,
            )
            done = sandbox.run(PROGRAMS[name])
            if (done.stdout.encode(), done.exit_code) != (plain.stdout, plain.returncode):
                different[name] = f"{done} instead of {plain.stdout!r}, {plain.returncode}"
    return different


@pytest.fixture(autouse=True)
def _interruptible() -> Iterator[None]:
    """Let programs be interrupted, where a shell has started the tests in the background as well."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow(reason="some programs start processes")
@pytest.mark.parametrize("mode", HERE)
def test_a_few_ordinary_programs_behave_as_scripts(mode: str, tmp_path: Path) -> None:
    """Those that show a kind of difference each."""
    assert compare(mode, list(FEW), tmp_path) == {}


@pytest.mark.nightly
@pytest.mark.parametrize("mode", HERE)
def test_ordinary_programs_behave_as_scripts(mode: str, tmp_path: Path) -> None:
    """All of them but those that the tier is known to run differently."""
    names = [name for name in PROGRAMS if name != "compiled program" or shutil.which("cc")]
    different = compare(mode, names, tmp_path)
    known = {*HERE[mode], *(DATA["users"] if mode == "restricted" and os.geteuid() != 0 else ())}
    assert different.keys() == known, different


def test_generators_that_modules_keep_are_seeded_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the global one, which Python seeds itself, and those of the operating system."""
    own, system = random.Random(1), random.SystemRandom()
    monkeypatch.setattr(execution, "_generators", [])
    execution.note_generators()
    assert own in execution._generators
    assert system not in execution._generators
    execution._generators[:] = [own]
    execution._reseed()
    assert own.random() != random.Random(1).random()


@pytest.mark.nightly
def test_generators_of_libraries_are_seeded_in_each_execution() -> None:
    """Two executions of one server draw different numbers."""
    pytest.importorskip("sympy")
    with Sandbox("auto") as sandbox, warnings.catch_warnings():
        warnings.simplefilter("ignore", SandboxWarning)
        drawn = {sandbox.run("import sympy; print(sympy.randprime(1, 10**12))").stdout for _ in range(3)}
    assert len(drawn) == 3
