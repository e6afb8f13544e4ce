"""One name, one idea: no two public classes of the repository share a name."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    path
    for pattern in ("packages/*/src", "hub/src")
    for folder in ROOT.glob(pattern)
    for path in folder.rglob("*.py")
    if "tasks" not in path.relative_to(folder).parts  # data: programs that run in the containers of tasks
)
STUBS = sorted(ROOT.glob("packages/*/src/**/__init__.pyi"))
ADAPTERS = "migration_adapters.py"
"""Classes of the original GEM's names and arguments, each around the class of today."""


def public_classes(source: str) -> list[str]:
    """Return the public classes that a module defines at its top level."""
    classes = [node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    return [name for name in classes if not name.startswith("_")]


def test_no_two_public_classes_share_a_name() -> None:
    """A class name in use needs another word, or the domain in front."""
    homes: dict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        if path.name != ADAPTERS:
            for name in public_classes(path.read_text(encoding="utf-8")):
                homes[name].append(str(path.relative_to(ROOT)))
    assert not {name: places for name, places in homes.items() if len(places) > 1}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("class Limits:\n    class Inner: ...", ["Limits"]),
        ("if True:\n    import enum\nclass Limits(enum.Enum): ...\nclass Other: ...", ["Limits", "Other"]),
        ("class _Limits: ...\ndef f():\n    class Local: ...", []),
    ],
)
def test_what_counts_as_a_public_class(source: str, names: list[str]) -> None:
    """Classes at the top of a module count; private, local and inner ones do not."""
    assert public_classes(source) == names


@pytest.mark.parametrize("stub", STUBS, ids=lambda path: path.parent.name)
def test_a_stub_lists_one_public_name_a_line(stub: Path) -> None:
    """gem.lazy reads these lines, so every line has the form that it understands, and no name comes twice."""
    lines = [line for line in stub.read_text(encoding="utf-8").splitlines() if line and line != "__version__: str"]
    found = [re.fullmatch(r"from [\w.]+ import (\w+) as \1", line) for line in lines]
    assert all(found), [line for line, match in zip(lines, found, strict=True) if not match]
    names = [match[1] for match in found if match]
    assert len(names) == len(set(names)) > 0


@pytest.mark.parametrize("stub", STUBS, ids=lambda path: path.parent.name)
def test_no_public_name_is_a_module_of_the_package(stub: Path) -> None:
    """The import of such a module would replace the name by the module, as soon as anything imports it."""
    names = {line.rpartition(" as ")[2] for line in stub.read_text(encoding="utf-8").splitlines() if " as " in line}
    modules = {path.stem for path in stub.parent.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert not names & modules
