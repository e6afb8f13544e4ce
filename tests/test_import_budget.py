"""What importing GEM and making an environment may load, and that neither does anything else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gem

SLOW = {"click", "importlib.metadata", "importlib_metadata", "numpy", "pluggy", "pydantic", "rich"}

HEAVY = {
    "PIL",
    "datasets",
    "docker",
    "math_verify",
    "mcp",
    "pandas",
    "pyarrow",
    "reasoning_gym",
    "sympy",
    "tantivy",
    "torch",
}

PLUGINS = sorted(
    path.name for path in Path(__file__).parents[1].glob("packages/*/src/*") if path.is_dir() and path.name != "gem"
)
BUNDLED = [
    "math:Arithmetic-v0",
    "math:WordProblems-v0",
    "math:Algebra-v0",
    "qa:Atlas-v0",
    "logic:RuleWorlds-v0",
    "code:Mini-v0",
]

# What was loaded is noted before the report itself loads anything.
REPORT = """
import sys
loaded = sorted(sys.modules)
import json, threading
print(json.dumps({"modules": loaded, "threads": threading.active_count()}))
"""


def modules_after(code: str, *flags: str) -> dict[str, Any]:
    """Run code in a new interpreter; return what it had loaded, and what it printed itself."""
    done = subprocess.run([sys.executable, *flags, "-c", code + REPORT], capture_output=True, text=True, check=True)
    *printed, report = done.stdout.splitlines()
    return {**json.loads(report), "printed": printed, "warned": done.stderr}


@pytest.fixture(scope="module")
def bare() -> set[str]:
    """The modules of an interpreter that has imported nothing of ours."""
    return set(modules_after("")["modules"])


def test_importing_gem_loads_nothing_else() -> None:
    """In an interpreter without site-packages, importing gem loads two small modules of its own, nothing else."""
    flags = ("-I", "-S")
    before = set(modules_after("", *flags)["modules"])
    source = f"import sys\nsys.path.append({str(Path(gem.__file__).parents[1])!r})\nimport gem\n"
    loaded = set(modules_after(source, *flags)["modules"]) - before
    assert loaded == {"__future__", "gem", "gem.lazy", "gem.migration"}


def test_importing_gem_does_nothing_else() -> None:
    """Importing gem prints nothing, warns of nothing and starts no thread."""
    result = modules_after("import gem\n", "-W", "error")
    assert result["printed"] == []
    assert result["warned"] == ""
    assert result["threads"] == 1


@pytest.mark.parametrize("name", ["Env", "Wrapper", "make", "spec", "register", "Policy", "EnvSpec"])
def test_the_core_names_need_no_plugins_validation_or_command_line(name: str, bare: set[str]) -> None:
    """What a rollout loop imports loads neither plugin machinery, schemas, NumPy, nor anything of the commands."""
    loaded = set(modules_after(f"import gem\ngem.{name}\n")["modules"]) - bare
    assert not loaded & SLOW


def test_making_a_game_loads_that_package_alone(bare: set[str]) -> None:
    """make() of a game loads no other environment package, no validation and no other game."""
    code = "import gem\nenv = gem.make('game:GuessTheNumber-v0')\nenv.reset(seed=0)\nenv.step('')\n"
    result = modules_after(code)
    loaded = set(result["modules"]) - bare
    # The entry points of installed packages have to be read, so importlib.metadata is needed here.
    assert not loaded & (SLOW - {"importlib.metadata", "importlib_metadata"})
    packages = {name.partition(".")[0] for name in loaded}
    assert {name for name in packages if name.startswith("gem")} == {"gem", "gem_envs_games"}
    games = {name for name in loaded if name.startswith("gem_envs_games.")}
    assert games == {"gem_envs_games.game", "gem_envs_games.guess_the_number"}
    assert result["printed"] == []
    assert result["threads"] == 1


@pytest.mark.parametrize("package", PLUGINS)
def test_importing_a_package_loads_nothing_heavy(package: str, bare: set[str]) -> None:
    """Importing any package of this project loads no library that takes long, prints nothing, starts no thread."""
    result = modules_after(f"import {package}\n", "-W", "error")
    assert not (set(result["modules"]) - bare) & (SLOW | HEAVY)
    assert result["printed"] == []
    assert result["warned"] == ""
    assert result["threads"] == 1


@pytest.mark.parametrize("env_id", BUNDLED)
def test_asking_a_bundled_question_loads_nothing_heavy(env_id: str, bare: set[str]) -> None:
    """make() and reset() of a set that a package carries load neither data-set libraries nor graders."""
    loaded = set(modules_after(f"import gem\ngem.make({env_id!r}).reset(seed=0)\n")["modules"]) - bare
    assert not loaded & HEAVY
    assert not loaded & (SLOW - {"importlib.metadata", "importlib_metadata"})


def test_listing_imports_no_environment_package(bare: set[str]) -> None:
    """print_envs() and spec() read manifests and import none of the packages that they belong to."""
    loaded = set(modules_after("import gem\ngem.print_envs()\ngem.spec('game:Sudoku-v0-easy')\n")["modules"]) - bare
    assert not [name for name in loaded if name.startswith("gem_envs")]
    assert "pydantic" not in loaded


def test_the_commands_import_no_environment_package(bare: set[str]) -> None:
    """'gem list' and 'gem doctor' import no environment package."""
    code = "import sys\nfrom gem.cli.main import cli\ncli.main(sys.argv[1:] or ['list'], standalone_mode=False)\n"
    for command in ("list", "doctor"):
        loaded = set(modules_after(code.replace("'list'", repr(command)))["modules"]) - bare
        assert not [name for name in loaded if name.startswith("gem_envs")], command
