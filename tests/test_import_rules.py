"""Which package may import which, and that no module imports itself by way of others.

Imports inside functions and under TYPE_CHECKING count like all others.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("import rules")  # so that each file is parsed once

ROOT = Path(__file__).parents[1]
SOURCES = sorted(
    folder for pattern in ("packages/*/src/*", "hub/src/*") for folder in ROOT.glob(pattern) if folder.is_dir()
)
PACKAGES = [folder.name for folder in SOURCES if folder.suffix != ".egg-info"]

LAYERS: dict[str, tuple[str, ...]] = {
    "contract": ("gem_command", "gem"),
    "command line": ("gem_hub_client", "gem_cli"),
    "vectorization": ("gem_processes",),
    "rollouts": ("gem_rollout",),
    "questions": ("gem_questions",),
    "tools": ("gem_tools",),
    "environments": (
        *("gem_bridges", "gem_envs_code", "gem_envs_craft", "gem_envs_data", "gem_envs_desk", "gem_envs_games"),
        *("gem_envs_grid", "gem_envs_house", "gem_envs_lab", "gem_envs_math", "gem_envs_office", "gem_envs_qa"),
        *("gem_envs_reasoning", "gem_envs_visual", "gem_envs_web"),
    ),
    "evaluation and training": ("gem_eval", "gem_ray", "gem_rl", "gem_testing"),
    "services": ("gem_server", "gem_terminal", "gem_terminal_remote", "gem_envs_swe", "gem_gateway", "gem_hub"),
}
"""Layer → its packages, from the contract upwards, as in docs/architecture.md.

A package imports packages of lower layers alone, or of its own layer ones that stand before it.
"""

LIBRARIES = {"gem_processes", "gem_rollout", "gem_questions", "gem_cli"}
"""What any package above them may import beside gem, if it declares that it depends on it."""

MAY_IMPORT: dict[str, set[str]] = {
    "gem": {"gem_command"},
    "gem_command": set(),
    "gem_cli": {"gem", "gem_command", "gem_hub_client"},
    "gem_hub_client": set(),
    "gem_processes": {"gem"},
    "gem_rollout": {"gem", "gem_processes", "gem_cli"},
    "gem_questions": {"gem", "gem_cli", "gem_rollout"},
    "gem_envs_code": {"gem", "gem_tools", *LIBRARIES},
    "gem_envs_data": {"gem", "gem_tools", *LIBRARIES},
    "gem_envs_desk": {"gem", "gem_tools", *LIBRARIES},
    "gem_envs_qa": {"gem", "gem_tools", *LIBRARIES},
    "gem_envs_web": {"gem", "gem_tools", *LIBRARIES},
    "gem_terminal": {"gem", "gem_tools", *LIBRARIES},
    "gem_terminal_remote": {"gem", "gem_server", "gem_terminal", *LIBRARIES},
    "gem_envs_swe": {"gem", "gem_hub_client", "gem_terminal", *LIBRARIES},
    "gem_eval": {"gem", "gem_hub_client", *LIBRARIES},
    "gem_gateway": {"gem", "gem_eval", "gem_tools", *LIBRARIES},
    "gem_hub": {"gem", "gem_eval", "gem_hub_client", "gem_testing", "gem_tools", *LIBRARIES},
}
"""Package → the packages of this repository that it may import; all others gem and :data:`LIBRARIES`."""

BRINGS = {"gem": {"gem_cli", "gem_processes", "gem_questions", "gem_rollout", "gem_testing"}}
"""Package → the packages that its distribution, or an extra of it, installs without importing them."""

ENTRIES = {"gem/__main__.py"}
"""Files that start a program: the command line, whatever folder they lie in."""


COMPUTED = ("import_module", "__import__", "find_spec")
"""Functions that import, or look for, the module whose name they are given."""


@lru_cache(maxsize=4096)
def imports_of(source: str) -> list[ast.Import | ast.ImportFrom | ast.Call]:
    """Return the statements that import, also those inside functions, and the calls of :data:`COMPUTED`."""
    tree = ast.parse(source)
    # Nine nodes in ten are expressions, and those of most files call none of these functions.
    nodes = ast.walk(tree) if any(name in source for name in COMPUTED) else statements_of(tree)
    return [
        node
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom) or (isinstance(node, ast.Call) and _called(node) in COMPUTED)
    ]


def statements_of(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the statements of a module, also those inside others."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        yield node
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            todo += getattr(node, part, ())


def _called(call: ast.Call) -> str | None:
    """Return the last part of the name of the function that is called, None if it gets no argument by position."""
    if not call.args:
        return None
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)


def imported_packages(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and top-level name of every import, also of those inside functions and of computed ones."""
    for node in imports_of(source):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module.partition(".")[0]
        elif isinstance(node, ast.Call) and isinstance(name := getattr(node.args[0], "value", None), str):
            yield node.lineno, name.partition(".")[0]


def may_import(package: str) -> set[str]:
    """Return the packages of this repository that a package may import."""
    return MAY_IMPORT.get(package, {"gem", *LIBRARIES})


def violations(package: str, source: str) -> list[str]:
    """Return the forbidden imports of a module of a package."""
    allowed = may_import(package) | {package}
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
        if file.relative_to(folder.parent).as_posix() not in ENTRIES
        if (wrong := violations(package, file.read_text(encoding="utf-8")))
    }
    assert not found


def test_every_package_has_a_layer_and_may_import_lower_ones_alone() -> None:
    """No rule above allows an arrow back; imports inside functions keep to the rules too."""
    order = [package for layer in LAYERS.values() for package in layer]
    assert sorted(order) == sorted(PACKAGES)
    for package in order:
        above = {other for other in may_import(package) if order.index(other) >= order.index(package)}
        assert not above, f"{package} may import {above}, which stand above it"


def test_the_layers_are_those_of_the_page() -> None:
    """docs/architecture.md lists the layers in their order, each with its packages."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in page.partition("## The layers")[2].partition("\n## ")[0].splitlines()]
    table = {row[1].strip(): set(re.findall(r"`(gem[\w-]*)`", row[2])) for row in rows if len(row) > 3}
    named = {
        layer: {"gem-core" if package == "gem" else package.replace("_", "-") for package in packages} - {"gem-command"}
        for layer, packages in LAYERS.items()
    }
    assert {layer: names for layer, names in table.items() if names} == named
    assert [layer for layer in table if layer in LAYERS] == list(LAYERS)


@pytest.mark.parametrize("package", sorted({*PACKAGES} - {"gem_command"}))
def test_a_package_declares_the_packages_that_it_imports(package: str) -> None:
    """Its pyproject.toml names each of them, with or without an extra: nothing is there by way of another package."""
    (folder,) = (folder for folder in SOURCES if folder.name == package)
    text = (folder.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    declared = {name.replace("-", "_") for name in re.findall(r'"(gem-[\w-]+)', text)}
    imported = {
        name
        for file in folder.rglob("*.py")
        for _, name in imported_packages(file.read_text(encoding="utf-8"))
        if re.match("gem(_|$)", name) and file.relative_to(folder.parent).as_posix() not in ENTRIES
    }
    # gem-core brings gem-cli, which cannot require it in turn: installers handle a circle of requirements badly.
    needed = {"gem_core" if name in ("gem", "gem_command") else name for name in imported} - {package}
    assert needed - declared <= ({"gem_core"} if package in ("gem", "gem_cli") else set())


@pytest.mark.parametrize(
    ("package", "source"),
    [
        ("gem", "import gem_envs_games"),
        ("gem", "def later():\n    from gem_tools.sandbox import run_python"),
        ("gem", "if TYPE_CHECKING:\n    import gem_eval.runner as r"),
        ("gem", "importlib.import_module('gem_rl')"),
        ("gem_envs_games", "from gem_envs_math import grader"),
        ("gem_envs_games", "import gem_tools"),
        ("gem_processes", "import gem_rollout"),
        ("gem_rollout", "def later():\n    from gem_questions.rewards import Reward"),
        ("gem_cli", "import gem_rollout"),
        ("gem_tools", "import gem_envs_code"),
        ("gem_hub_client", "import gem"),
        ("gem", "import gem_hub_client"),
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


def modules_of(folder: Path) -> dict[str, Path]:
    """Return the modules of a package by name. A stub stands for its module: it has the names that load on use."""
    modules: dict[str, Path] = {}
    for path in sorted(folder.rglob("*.py*")):
        if path.suffix in (".py", ".pyi"):
            parts = path.relative_to(folder.parent).with_suffix("").parts
            modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def imported_modules(name: str, path: Path, modules: Collection[str]) -> Iterator[str]:
    """Yield the modules of its own package that a module imports, wherever the statement stands."""
    package = name.split(".") if path.stem == "__init__" else name.split(".")[:-1]
    for node in imports_of(path.read_text(encoding="utf-8")):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                if inner in modules or base in modules:
                    yield inner if inner in modules else base


def circle_in(folder: Path) -> list[str]:
    """Return an import circle between modules of a package; empty if there is none."""
    modules = modules_of(folder)
    graph = {name: set(imported_modules(name, path, modules)) - {name} for name, path in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle
    return []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_imports_itself_by_way_of_others(package: str) -> None:
    """The modules of a package can be put in an order in which each imports only earlier ones."""
    (folder,) = (folder for folder in SOURCES if folder.name == package)
    assert not circle_in(folder)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("from pack.two import b", "from pack.one import a"),
        ("from . import two", "def later():\n    import pack.one"),
        ("from pack import two", "if TYPE_CHECKING:\n    from .one import a"),
        ("import pack.two", "from pack import a"),  # by way of the package itself, whose stub names pack.one
    ],
)
def test_a_circle_is_found(tmp_path: Path, one: str, two: str) -> None:
    """Each way of importing back is noticed: at the top, in a function, for types alone, through the package."""
    folder = tmp_path / "pack"
    folder.mkdir()
    for name, source in {
        "one.py": one,
        "two.py": two,
        "__init__.py": "",
        "__init__.pyi": "from pack.one import a as a",
    }.items():
        (folder / name).write_text(source)
    assert {"pack.one", "pack.two"} <= set(circle_in(folder))
    (folder / "two.py").write_text("import json")
    assert not circle_in(folder)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_folder_of_modules_is_a_package(package: str) -> None:
    """A folder without ``__init__.py`` would be a namespace that any other distribution could fill; tasks are data."""
    (folder,) = (folder for folder in SOURCES if folder.name == package)
    folders = {file.parent for file in folder.rglob("*.py") if not {"tasks", "templates"} & {*file.parts}}
    assert not [str(found) for found in folders if not (found / "__init__.py").exists()]


def test_one_name_installs_every_package() -> None:
    """``gem-core[all]`` names each package of the workspace but itself, what it always brings, and the registry."""
    text = (ROOT / "packages" / "gem-core" / "pyproject.toml").read_text(encoding="utf-8")
    named = re.findall(r'^  "(gem-[\w-]+)>', text.partition("\nall = [")[2].partition("\n]")[0], re.MULTILINE)
    packages = {project.parent.name for project in ROOT.glob("packages/*/pyproject.toml")}
    assert sorted(named) == sorted(packages - {"gem-core", "gem-cli", "gem-hub-client"})


def test_declared_dependencies_follow_the_same_rules() -> None:
    """No pyproject.toml depends on a package of the workspace that its code may not import; tests may need more."""
    for project in (*ROOT.glob("packages/*/pyproject.toml"), *ROOT.glob("hub/pyproject.toml")):
        text = project.read_text(encoding="utf-8")
        name = re.search(r'^name = "(.+)"$', text, re.MULTILINE)
        assert name is not None, project
        package = "gem" if name[1] == "gem-core" else name[1].replace("-", "_")
        without_tests = re.sub(r"^(test = \[.*|all = \[.*\n(  .*\n)*)\]", "", text, flags=re.MULTILINE)
        needed = set(re.findall(r'"(gem-[\w-]+)\s*[<>=~!\[;"]', without_tests)) - {name[1]}
        imports = {"gem" if n == "gem-core" else n.replace("-", "_") for n in needed}
        assert imports <= may_import(package) | BRINGS.get(package, set()), project
        assert "gem" in imports or "gem" not in may_import(package) or package == "gem_cli", project
