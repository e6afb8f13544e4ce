"""The two paths of CONTRIBUTING.md, walked in a copy of the packages that they change: a new variant, a new wrapper."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PACKAGES = ("gem-core", "gem-envs-games", "gem-testing")
DOCUMENT_TESTS = "tests/test_documents.py"
NO_LINKS = "not links_lead_somewhere"
"""All tests but one: documents link to what the copy lacks."""

WRAPPER = r'''"""A reminder below every observation."""

from __future__ import annotations

from typing import Any

from gem.core import Env, Info, Wrapper

__all__ = ["Reminder"]


class Reminder(Wrapper[str, Any]):
    """Shows a reminder below every observation."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        observation, info = super().reset(seed=seed, options=options)
        return f"{observation}\nYour move.", info

    def step(self, action: Any) -> tuple[str, float, bool, bool, Info]:
        observation, *rest = super().step(action)
        return f"{observation}\nYour move.", *rest
'''


class Checkout:
    """A copy of a few packages, whose code is imported instead of the working tree's."""

    def __init__(self, root: Path) -> None:
        self.root = root
        ignored = shutil.ignore_patterns("__pycache__", ".*_cache", ".hypothesis")
        for name in PACKAGES:
            shutil.copytree(ROOT / "packages" / name, root / "packages" / name, ignore=ignored)
        for name in ("docs", "changelog.d", ".ci"):
            shutil.copytree(ROOT / name, root / name)
        (root / "tests").mkdir()
        for name in ("pyproject.toml", "conftest.py", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", DOCUMENT_TESTS):
            shutil.copy(ROOT / name, root / name)
        self.changed: list[str] = []

    def change(self, file: str, old: str, new: str) -> None:
        """Replace a text that stands in a file once."""
        path = self.root / file
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{file} has {old!r} {text.count(old)} times"
        path.write_text(text.replace(old, new), encoding="utf-8")
        self.changed.append(file)

    def add(self, file: str, text: str) -> None:
        """Write a new file."""
        (self.root / file).write_text(text, encoding="utf-8")
        self.changed.append(file)

    def run(self, *command: str) -> str:
        """Run a module of Python in the copy; return its output."""
        sources = os.pathsep.join(str(self.root / "packages" / name / "src") for name in PACKAGES)
        variables = {**os.environ, "PYTHONPATH": sources}
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=self.root, env=variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def quick(self) -> str:
        """Run the tests that dev.py quick chooses for the changes, of those packages that the copy has."""
        from devtools.quick import pytest_commands
        from devtools.workspace import classify

        (command,) = pytest_commands(classify(self.changed, None, self.root), [], self.root)
        return self.run("pytest", "-q", "--tier", "quick", "-k", NO_LINKS, *command[1:])


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """A copy that a contributor may change."""
    monkeypatch.syspath_prepend(str(ROOT))
    return Checkout(tmp_path)


def add_variant(checkout: Checkout) -> str:
    """Follow the guide's steps to a new variant; return its id."""
    line = re.search(r"`(tiny = \{.*\})`", GUIDE)
    name = re.search(r"gem check (game:\S+-tiny)$", GUIDE, re.MULTILINE)
    assert line is not None
    assert name is not None
    easy = "easy = { min_number = 1, max_number = 10, max_turns = 4 }\n"
    manifest = "packages/gem-envs-games/src/gem_envs_games/environments.toml"
    checkout.change(manifest, easy, f"{line[1]}\n{easy}")
    return name[1]


def add_wrapper(checkout: Checkout) -> None:
    """Follow the guide's steps to a new wrapper."""
    core = "packages/gem-core"
    for place in (f"{core}/src/gem/wrappers/", f"{core}/src/gem/built_in.py", f"{core}/tests/test_wrapper_base.py"):
        assert place in GUIDE
    checkout.add(f"{core}/src/gem/wrappers/reminder.py", WRAPPER)
    checkout.change(
        f"{core}/src/gem/built_in.py", "}\n\nVECTOR", '    "reminder": "gem.wrappers.reminder:Reminder",\n}\n\nVECTOR'
    )
    last = '    "attempts": gem.wrapper("attempts", max_attempts=2),\n'
    checkout.change(f"{core}/tests/test_wrapper_base.py", last, f'{last}    "reminder": gem.wrapper("reminder"),\n')
    row = "| `reminder` | `gem.wrappers.reminder:Reminder` | shows a reminder below every observation |\n"
    checkout.change("docs/wrappers.md", "\n`gem-tools` brings", f"{row}\n`gem-tools` brings")


@pytest.mark.nightly
def test_a_variant_needs_the_manifest(checkout: Checkout) -> None:
    """The new variant is listed and passes the conformance kit."""
    name = add_variant(checkout)
    assert name in checkout.run("gem", "list", "--ids", "game").split()
    checkout.run("gem", "check", name)


@pytest.mark.nightly
def test_a_wrapper_needs_a_module_a_registration_tests_and_a_page(checkout: Checkout) -> None:
    """The new wrapper works by name, and passes the tests of all wrappers and of their page."""
    add_wrapper(checkout)
    wrappers = "packages/gem-core/tests/test_wrapper_base.py"
    chosen = f"reminder or keys or test_documents and {NO_LINKS}"
    said = checkout.run("pytest", "-q", "--tier", "quick", wrappers, DOCUMENT_TESTS, "-k", chosen)
    assert " passed" in said


@pytest.mark.parametrize("walk", [add_variant, add_wrapper])
@pytest.mark.nightly
def test_what_the_guide_says_is_all(checkout: Checkout, walk: object) -> None:
    """After the guide's steps and no other, every quick test passes that the change touches."""
    assert callable(walk)
    walk(checkout)
    checkout.quick()
