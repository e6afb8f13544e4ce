"""Paths of the original GEM."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import gem
from gem import migration
from gem.migration import MOVED

HERE = [module for module, (distribution, _) in MOVED.items() if distribution == "gem-core"]
ELSEWHERE = {
    module: distribution
    for module, (distribution, targets) in MOVED.items()
    if all(find_spec(target.partition(":")[0].partition(".")[0]) is None for target in targets.values())
}


@pytest.mark.parametrize("module", HERE)
def test_every_name_of_a_path_of_gem_core_resolves(module: str) -> None:
    """Importing the old module and each name of it gives the object at the new place."""
    old = importlib.import_module(module)
    for name, target in MOVED[module][1].items():
        place, _, attribute = target.partition(":")
        assert getattr(old, name) is getattr(importlib.import_module(place), attribute)


@pytest.mark.parametrize("module", ELSEWHERE)
def test_a_path_of_a_missing_package_says_what_to_install(module: str) -> None:
    """The import is a ModuleNotFoundError with the pip line and the old name, or that of the parent it fails at."""
    with pytest.raises(ModuleNotFoundError, match=f"pip install {ELSEWHERE[module]}$") as caught:
        importlib.import_module(module)
    assert f"{module}.".startswith(f"{caught.value.name}.")


@pytest.mark.parametrize("module", ELSEWHERE)
def test_an_entry_point_of_a_missing_package_says_what_to_install(module: str) -> None:
    """The original's entry-point strings fail with the same advice."""
    name = next(iter(MOVED[module][1]))
    with pytest.raises(gem.GemError, match=f"pip install {ELSEWHERE[module]}"):
        gem.make(gem.EnvSpec("test:Old", f"{module}:{name}"))


def test_a_name_that_the_original_never_had_is_missing() -> None:
    """An unknown attribute of an old module is an AttributeError, an unknown module is not found."""
    import gem.utils.parsing as parsing  # type: ignore[import-not-found]  # served by the finder

    assert not hasattr(parsing, "nothing")
    assert "extract_last_boxed_answer" in parsing.__all__
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("gem.utils.nothing")
    with pytest.raises(AttributeError, match="nothing"):
        _ = gem.nothing


def test_real_modules_win() -> None:
    """A module of this package is never shadowed by an entry of the table."""
    for module in MOVED:
        path = Path(gem.__file__).parent.joinpath(*module.split(".")[1:])
        if path.with_suffix(".py").exists() or path.is_dir():
            found = find_spec(module)
            assert found is not None, module
            assert found.origin is not None, module


def test_the_finder_is_installed_once() -> None:
    """Calling install again, as a reload of gem does, adds nothing."""
    migration.install()
    assert sum("_Finder" in str(finder) for finder in sys.meta_path) == 1


def test_importing_an_old_path_loads_only_what_it_leads_to() -> None:
    """The published names of gem.utils cost no wrapper, no tool and no vector environment."""
    code = (
        "import sys\nfrom gem.utils.parsing import extract_last_boxed_answer\n"
        "from gem.utils.constants import TERMINAL_STATE\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "gem.text" in loaded
    for other in ("core", "discovery", "plugins", "registry", "tools", "vector", "wrappers"):
        assert f"gem.{other}" not in loaded


def test_the_table_names_only_well_formed_targets() -> None:
    """Each target is 'module:attribute' in the import package of the distribution that the row names."""
    for module, (distribution, targets) in MOVED.items():
        package = "gem" if distribution == "gem-core" else distribution.replace("-", "_")
        for name, target in targets.items():
            assert re.fullmatch(rf"{package}(\.\w+)*:\w+", target), (module, name)
            assert name.isidentifier()


def test_an_old_module_can_be_imported_beside_the_new_one() -> None:
    """Importing a parent, a child and a name in any order gives one object."""
    code = (
        "import gem.envs\nimport gem.envs.registration as old\nimport gem\n"
        "from gem.core import EnvWrapper, Wrapper\n"
        "assert old.make is gem.make and EnvWrapper is Wrapper and gem.envs.registration is old\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
