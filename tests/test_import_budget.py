"""The modules that importing GEM and making an environment may load; neither has other effects."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
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

# The loaded modules are noted before the report itself loads any.
REPORT = """
import sys
loaded = sorted(sys.modules)
import json, threading
print(json.dumps({"modules": loaded, "threads": threading.active_count()}))
"""


def run(code: str, *flags: str) -> tuple[dict[str, Any], list[str], str]:
    """Run code in a new interpreter; return the report, and what the code itself printed and warned of."""
    done = subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, check=True)
    *printed, report = done.stdout.splitlines()
    return json.loads(report), printed, done.stderr


def modules_after(code: str, *flags: str) -> dict[str, Any]:
    """Return the modules and threads of a new interpreter after code, and what the code printed and warned of."""
    report, printed, warned = run(code + REPORT, *flags)
    return {**report, "printed": printed, "warned": warned}


def modules_of_each(steps: Iterable[str]) -> dict[str, set[str]]:
    """Run pieces of code one after the other in one new interpreter; return the modules that each of them added."""
    code = "import sys\nseen, added = set(sys.modules), {}\n"
    for step in steps:
        code += f"{step}\nadded[{step!r}] = sorted(set(sys.modules) - seen)\nseen = set(sys.modules)\n"
    report, printed, warned = run(code + "import json\nprint(json.dumps(added))", "-W", "error")
    assert (printed, warned) == ([], "")
    return {step: set(modules) for step, modules in report.items()}


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


def test_the_core_names_need_no_plugins_validation_or_command_line(bare: set[str]) -> None:
    """The imports of a rollout loop load neither plugin machinery, schemas, NumPy, nor anything of the commands."""
    names = ("Env", "TextEnv", "Wrapper", "make", "spec", "register", "Policy", "EnvSpec")
    added = modules_of_each(["import gem", *(f"gem.{name}" for name in names)])
    assert not {step: heavy for step, loaded in added.items() if (heavy := loaded & (SLOW - bare))}


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


def test_importing_a_package_loads_nothing_heavy(bare: set[str]) -> None:
    """Importing any package of this project loads no library that takes long, prints nothing, starts no thread."""
    code = "\n".join(f"import {package}" for package in PLUGINS)
    assert modules_after(code, "-W", "error")["threads"] == 1
    added = modules_of_each(f"import {package}" for package in PLUGINS)
    assert not {step: heavy for step, loaded in added.items() if (heavy := loaded & ((SLOW | HEAVY) - bare))}


def test_an_evaluation_without_a_model_loads_no_client(bare: set[str]) -> None:
    """Importing gem_eval loads only itself; its names and 'gem eval --agent' load no HTTP client and no schemas."""
    loaded = set(modules_after("import gem_eval\n")["modules"]) - bare
    assert loaded <= {"__future__", "gem", "gem.lazy", "gem.migration", "gem_eval"}
    code = "from gem_cli.main import cli\nimport os, tempfile\nos.chdir(tempfile.mkdtemp())\n"
    code += "cli.main(['eval', 'game:GuessTheNumber-v0-easy', '--agent', 'null', '-n', '2'], standalone_mode=False)\n"
    loaded = set(modules_after(code)["modules"]) - bare
    assert not loaded & (HEAVY | {"aiohttp", "pydantic"})


def test_asking_a_bundled_question_loads_nothing_heavy(bare: set[str]) -> None:
    """make() and reset() of a set that a package carries load neither data-set libraries nor graders."""
    added = modules_of_each(f"import gem; gem.make({env_id!r}).reset(seed=0)" for env_id in BUNDLED)
    forbidden = (HEAVY | SLOW) - {"importlib.metadata", "importlib_metadata"} - bare
    assert not {step: heavy for step, loaded in added.items() if (heavy := loaded & forbidden)}


def test_listing_imports_no_environment_package(bare: set[str]) -> None:
    """print_envs() and spec() read manifests and import none of the packages that they belong to."""
    loaded = set(modules_after("import gem\ngem.print_envs()\ngem.spec('game:Sudoku-v0-easy')\n")["modules"]) - bare
    assert not [name for name in loaded if name.startswith("gem_envs")]
    assert "pydantic" not in loaded


@pytest.mark.slow(reason="gem doctor imports packages in another process")
@pytest.mark.parametrize("others", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_the_commands_import_no_environment_package(bare: set[str], others: bool) -> None:
    """'gem list' and 'gem doctor' import no environment package; by day one package of two kinds each is there."""
    packages = {path.parent.name for path in Path(__file__).parents[1].glob("packages/*/pyproject.toml")}
    away = set() if others else packages - {"gem-core", "gem-envs-games", "gem-envs-qa", "gem-tools"}
    code = f"import os\nos.environ['GEM_DISABLE_PLUGINS'] = {','.join(sorted(away))!r}\nfrom gem_cli.main import cli\n"
    code += "\n".join(
        f"try: cli.main([{command!r}], standalone_mode=False)\nexcept SystemExit: pass"
        for command in ("list", "doctor")
    )
    loaded = set(modules_after(code)["modules"]) - bare
    assert not [name for name in loaded if name.startswith("gem_envs")]
