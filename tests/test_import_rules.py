"""Which package may import which: environment packages import gem and tools, gem imports none of the others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(
    folder for pattern in ("packages/*/src/*", "hub/src/*") for folder in ROOT.glob(pattern) if folder.is_dir()
)
PACKAGES = [folder.name for folder in SOURCES if folder.suffix != ".egg-info"]

# Beyond gem, which every package may import. Whatever is not here may import gem alone.
MAY_IMPORT = {"gem": set(), "gem_envs_code": {"gem", "gem_tools"}, "gem_hub": {"gem", "gem_testing"}}


def imported_packages(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and top-level name of every import, also of those inside functions and of computed ones."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module.partition(".")[0]
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("import_module", "__import__", "find_spec") and isinstance(node.args[0].value, str):
                yield node.lineno, node.args[0].value.partition(".")[0]


def violations(package: str, source: str) -> list[str]:
    """Return what a module of a package imports and may not."""
    allowed = MAY_IMPORT.get(package, {"gem"}) | {package}
    return [
        f"line {line}: {name}"
        for line, name in imported_packages(source)
        if re.match("gem(_|$)", name) and name not in allowed
    ]


def test_there_is_something_to_check() -> None:
    """The packages of the workspace are found."""
    assert {"gem", "gem_envs_games"} <= set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_only_what_it_may(package: str) -> None:
    """No module of a package imports a package of this repository that the rules do not grant it."""
    (folder,) = (folder for folder in SOURCES if folder.name == package)
    found = {
        str(file.relative_to(ROOT)): wrong
        for file in folder.rglob("*.py")
        if (wrong := violations(package, file.read_text(encoding="utf-8")))
    }
    assert not found


@pytest.mark.parametrize(
    ("package", "source"),
    [
        ("gem", "import gem_envs_games"),
        ("gem", "def later():\n    from gem_tools.sandbox import run_python"),
        ("gem", "if TYPE_CHECKING:\n    import gem_eval.runner as r"),
        ("gem", "importlib.import_module('gem_rl')"),
        ("gem_envs_games", "from gem_envs_math import grader"),
        ("gem_envs_games", "import gem_tools"),
        ("gem_tools", "import gem_envs_code"),
    ],
)
def test_a_forbidden_import_is_found(package: str, source: str) -> None:
    """Each way of importing a forbidden package is noticed."""
    assert len(violations(package, source)) == 1


@pytest.mark.parametrize(
    ("package", "source"),
    [
        ("gem", "import gem.core, json\nfrom gem import text\nfrom . import ids"),
        ("gem_envs_games", "import gem\nfrom gem.core import Env\nimport gem_envs_games.game"),
        ("gem_envs_code", "from gem_tools import sandbox"),
        ("gem", "'gem_envs_games.sudoku:SudokuEnv'"),
        ("gem", "import gemini, gemfoo_bar"),
    ],
)
def test_what_is_allowed_passes(package: str, source: str) -> None:
    """Imports of gem, of a package's own modules and of foreign libraries are no violation, nor are names in text."""
    assert not violations(package, source)


def _files_in_reading_order() -> list[str]:
    """Return the modules and subpackages of gem as the table in docs/architecture.md lists them."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## The files of gem-core")[2]
    rows = [line.split("|")[1] for line in page.partition("\n## ")[0].splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`(\w+)(?:\.py|/)`", row)]


def test_gem_is_listed_whole_and_imports_upwards_only() -> None:
    """The table in docs/architecture.md names every module of gem, and none imports one below it at import time."""
    order = _files_in_reading_order()
    (gem,) = (folder for folder in SOURCES if folder.name == "gem")
    parts = {path.stem for path in gem.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert sorted(order) == sorted(parts - {"__init__", "__main__"})
    wrong = []
    for file in gem.rglob("*.py"):
        own = file.relative_to(gem).parts[0].removesuffix(".py")
        if own not in order:
            continue
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "gem":
                names = (
                    [alias.name for alias in node.names] if node.module == "gem" else [str(node.module).split(".")[1]]
                )
                wrong += [f"{file.relative_to(gem)}: {name}" for name in names if order.index(name) > order.index(own)]
    assert not wrong


def test_declared_dependencies_follow_the_same_rules() -> None:
    """No pyproject.toml depends on a package of the workspace that its code may not import; tests may need more."""
    for project in (*ROOT.glob("packages/*/pyproject.toml"), *ROOT.glob("hub/pyproject.toml")):
        text = project.read_text(encoding="utf-8")
        name = re.search(r'^name = "(.+)"$', text, re.MULTILINE)
        assert name is not None, project
        package = "gem" if name[1] == "gem-core" else name[1].replace("-", "_")
        without_tests = re.sub(r"^test = \[.*\]$", "", text, flags=re.MULTILINE)
        needed = set(re.findall(r'"(gem-[\w-]+)\s*[<>=~!\[;"]', without_tests)) - {name[1]}
        imports = {"gem" if n == "gem-core" else n.replace("-", "_") for n in needed}
        assert imports <= MAY_IMPORT.get(package, {"gem"}), project
        assert package == "gem" or "gem" in imports, f"{project}: it must depend on gem-core"
