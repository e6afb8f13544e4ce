"""The front doors of ``gem``: each name that gem-core offered when it held the libraries leads to the same thing."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from gem.migration import RENAMED, distribution_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OLD: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("gem_core_names.toml").read_text(encoding="utf-8"))
"""Module → the names that it offered."""

MISSING = """
import sys
import gem
AWAY = {"gem_cli", "gem_processes", "gem_questions", "gem_rollout", "gem_terminal_remote", "gem_testing", "gem_tools"}
class Away:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in AWAY:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Away)
for module in sys.argv[1:]:
    try:
        __import__(module)
    except gem.GemError as error:  # so that no command shows a traceback
        assert isinstance(error, ModuleNotFoundError)
        print(error.name, error)
try:
    gem.Trajectory
except ModuleNotFoundError as error:
    print("gem.Trajectory", error)
"""


@pytest.mark.parametrize("module", OLD)
def test_every_old_name_is_where_it_was(module: str) -> None:
    """Each module can be imported by its old path and has all the names that it offered."""
    found = import_module(module)
    missing = {name for name in OLD[module] if not hasattr(found, name)}
    assert not missing


@pytest.mark.parametrize(("old", "new"), [(old, new) for old, (_, new) in RENAMED.items() if old in OLD])
def test_old_and_new_paths_give_the_same_objects(old: str, new: str) -> None:
    """A front door copies nothing, so that classes and exceptions of both paths are the same."""
    for name in OLD[old]:
        assert getattr(import_module(old), name) is getattr(import_module(new), name)


def test_a_missing_library_is_one_sentence() -> None:
    """A package that was made for the first gem-core is told the line that installs what it imports."""
    away = [module for module in RENAMED if distribution_of(module) != "gem-core"]
    done = subprocess.run([sys.executable, "-c", MISSING, *away], capture_output=True, text=True, check=True)
    said = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert said["gem.Trajectory"].endswith("run: pip install gem-rollout")
    for module in away:
        # A parent that is missing too is named in its place.
        name = next(part for part in (module, module.rpartition(".")[0]) if part in said)
        distribution = distribution_of(name)
        assert said[name] == (
            f"{name} has moved to {distribution}, which is not installed; run: pip install {distribution}"
        )
