"""Paths of the original GEM."""

from __future__ import annotations

import importlib
import random
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import gem
from gem import migration
from gem.migration import MOVED, RENAMED

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


def test_seeding_as_the_original_did_makes_both_global_generators_repeat() -> None:
    """set_seed seeds random and numpy.random; np_random returns a generator and the seed that makes it again."""
    numpy = pytest.importorskip("numpy")
    from gem.utils.seeding import RNG, np_random, set_seed  # type: ignore[import-not-found]  # served by the finder

    draws = []
    for _ in range(2):
        set_seed(3)
        draws.append((random.random(), float(numpy.random.random())))
    assert draws[0] == draws[1]
    generator, seed = np_random()
    assert isinstance(generator, RNG)
    assert generator.random() == np_random(seed)[0].random()
    with pytest.raises(gem.errors.ArgumentError, match="non-negative"):
        np_random(-1)


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


RENAMED_IMPORTS = """
import gem.testing.agents as old
import gem_testing.agents as new
from gem.testing import EnvConformance, agents, clauses
import gem.testing.clauses.contract
import gem_testing, gem_testing.conformance, sys
assert agents is old and old.NullPolicy is new.NullPolicy
assert EnvConformance is gem_testing.conformance.EnvConformance
assert {"EnvConformance", "run_clauses"} <= set(dir(sys.modules["gem.testing"]))
try:
    from gem.testing import nothing
except ImportError as error:
    assert str(error).startswith("cannot import name 'nothing' from 'gem.testing'"), error
try:
    import gem.testing.nothing
except ModuleNotFoundError as error:
    assert error.name == "gem.testing.nothing", error
assert sys.modules["gem_testing.agents"] is new and new.__name__ == new.__spec__.name == "gem_testing.agents"
"""


@pytest.mark.skipif(find_spec("gem_testing") is None, reason="gem-testing is not installed")
def test_a_renamed_package_resolves_with_its_modules() -> None:
    """Old and new names of a package and of its modules give the same objects; the new modules keep their specs."""
    subprocess.run([sys.executable, "-W", "error", "-c", RENAMED_IMPORTS], check=True)


@pytest.mark.parametrize("module", ["gem.testing", "gem.testing.agents"])
def test_a_renamed_package_that_is_missing_says_what_to_install(module: str) -> None:
    """Without the distribution, the import error of an old name gives the pip line."""
    code = (
        "import sys, importlib\nimport gem\nsys.modules['gem_testing'] = None\n"
        f"try:\n    importlib.import_module('{module}')\n"
        "except ModuleNotFoundError as error:\n    print(error.name, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    name, _, message = done.stdout.strip().partition(" ")
    assert f"{module}.".startswith(f"{name}.")
    assert message.endswith("run: pip install gem-testing")


def test_importing_gem_loads_no_renamed_package() -> None:
    """The old names cost nothing until they are used."""
    code = "import sys, gem\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {new for _, new in RENAMED.values()} & set(loaded)


def test_a_renamed_package_wins_over_a_folder_left_behind(tmp_path: Path) -> None:
    """A folder of the old name that holds no more than __pycache__ hides nothing."""
    (tmp_path / "testing" / "__pycache__").mkdir(parents=True)
    code = f"import gem\ngem.__path__.append({str(tmp_path)!r})\nimport gem.testing\nprint(gem.testing.__all__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "EnvConformance" in done.stdout or "pip install gem-testing" in done.stderr
