"""What a package and its tests need: read from its tree, and fetched as wheels, which run nothing by that."""

from __future__ import annotations

import ast
import configparser
import contextlib
import platform
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Sequence, Set
from pathlib import Path
from typing import Any

from packaging.markers import InvalidMarker, Marker, UndefinedComparison
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from gem_envs_swe.errors import SweError
from gem_envs_swe.making.archives import metadata_of
from gem_envs_swe.making.baseline import is_test_file

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["TEST_TOOLS", "Needs", "fetch_wheels", "read_needs"]

TEST_TOOLS = ("pip", "setuptools", "wheel", "editables", "pytest>=8", "coverage>=7")
"""What every image has besides: the installer, the build tools that packages expect without saying so, and our own."""
_GROUPS = re.compile(
    r"(?:unit[-_]?)?test(?:s|ing|ed)?|(?:run|all)[-_]?tests?|test[-_.]?(?:deps|requires|dependencies)|dev(?:el|elopment)?|pytest"
)
_FILES = (
    "requirements-test*.txt", "requirements-dev*.txt", "requirements_test*.txt", "requirements_dev*.txt",
    "test-requirements.txt", "test_requirements.txt", "dev-requirements.txt",
    "requirements/test*.txt", "requirements/dev*.txt", "tests/requirements*.txt", "test/requirements*.txt",
)  # fmt: skip
_NOT_FOR_TESTS = re.compile(
    r"(?:pytest[-_](?:cov|xdist|randomly|sugar|black|flake8|ruff|mypy|checkdocs|enabler|codspeed|benchmark|pretty|github.*)"
    r"|tox.*|nox|mypy|ruff|black|flake8.*|isort|pylint|pre[-_]commit|sphinx.*|furo|mkdocs.*|zensical"
    r"|coveralls|codecov|twine|build|bump.*"
    r"|types[-_].*|pyright|bandit|towncrier|ipython|ipdb|jupyter.*|notebook|wheel|setuptools|pip|uv|hatch|poetry|changelist)"
)  # fmt: skip
"""Tools of developers that no test imports; plugins of pytest among them would change the order or the outcomes."""
_NAMED = re.compile(r"(?:requirement|found for|\(from) ([A-Za-z0-9][A-Za-z0-9._-]*)")
"""What pip says is missing, and what asked for it."""
_CONFLICT = re.compile(r"Cannot install (.+) because these package versions")
_FIRST = re.compile(r"(?:^|, | and )([A-Za-z0-9][A-Za-z0-9._-]*)")
"""What it says has no versions that go together; one distribution alone asks for something missing in each version."""
_LIBC = ("manylinux_2_34", "manylinux_2_28", "manylinux_2_17", "manylinux2014", "manylinux_2_12", "manylinux_2_5")


class Needs:
    """The requirements of a tree.

    Args:
        tree: a package's source.
        python: the version of Python that will run it, such as ``3.11.2``.
    """

    def __init__(self, tree: Path, python: str) -> None:
        self._environment = {
            "python_version": ".".join(python.split(".")[:2]), "python_full_version": python,
            "os_name": "posix", "sys_platform": "linux", "platform_system": "Linux",
            "platform_machine": platform.machine(),
            "platform_python_implementation": "CPython", "implementation_name": "cpython", "extra": "",
        }  # fmt: skip
        fields, project = metadata_of(tree), _pyproject(tree)
        self.package = canonicalize_name((fields.get("name") or [tree.name])[0])
        self.requires_python = (fields.get("requires-python") or [""])[0]
        self.required: list[str] = []
        """Of the package itself and its build."""
        self.for_tests: list[str] = []
        """Of its tests, as far as the tree says which; each may be missing."""
        build = project.get("build-system", {})
        self._add(self.required, build.get("requires", ()) if isinstance(build, dict) else ())
        described = fields.get("requires-dist", ()) or _of_egg_info(tree)
        named = {*fields.get("provides-extra", ()), *re.findall(r"extra == '([^']*)'", "\n".join(described))}
        elsewhere: list[str] = []
        for line in described:
            self._add(self.required, [line])
            for extra in sorted(named):
                self._add(self.for_tests if _GROUPS.fullmatch(extra.lower()) else elsewhere, [line], extra)
        groups = project.get("dependency-groups", {})
        for name in groups if isinstance(groups, dict) else ():
            is_for_tests = _GROUPS.fullmatch(str(name).lower())
            self._add(self.for_tests if is_for_tests else elsewhere, _group(groups, name, set()))
        for pattern in _FILES:
            for path in sorted(tree.glob(pattern)):
                self._add(self.for_tests, _lines(path.read_text(encoding="utf-8", errors="replace")))
        self._add(self.for_tests, _of_tox(tree))
        imports = _TestImports(tree)
        self.for_tests = self._chosen([*self.for_tests, *elsewhere], len(self.for_tests), imports.anywhere)
        self.undeclared = imports.first - imports.own - sys.stdlib_module_names | _plugins(tree, imports)
        """Modules of others without which files of tests cannot be collected, or their tests not run."""

    def _chosen(self, declared: Sequence[str], for_tests: int, imported: Set[str]) -> list[str]:
        """Return each distribution once: those for tests but for developers' tools, and what the tests import.

        Args:
            declared: requirements.
            for_tests: how many of them, from the first, are declared for tests.
            imported: names of distributions.
        """
        taken = {_name(each) for each in (*self.required, *TEST_TOOLS)}
        chosen = []
        for number, each in enumerate(declared):
            name = _name(each)
            wanted = name in imported or (number < for_tests and not _NOT_FOR_TESTS.fullmatch(name))
            if wanted and name not in taken:
                taken.add(name)
                chosen.append(each)
        return chosen

    def _add(self, to: list[str], lines: Iterable[object], extra: str = "") -> None:
        for line in lines:
            try:
                requirement = Requirement(str(line).strip())
            except InvalidRequirement:
                continue
            if requirement.url or canonicalize_name(requirement.name) == self.package:
                continue
            if requirement.marker is not None and not self._holds(requirement.marker, extra):
                continue
            requirement.marker = None
            if str(requirement) not in to:
                to.append(str(requirement))

    def _holds(self, marker: Marker, extra: str) -> bool:
        environment: Any = {**self._environment, "extra": extra}
        try:
            return marker.evaluate(environment) and (not extra or not marker.evaluate({**environment, "extra": ""}))
        except (InvalidMarker, UndefinedComparison):
            return False


def read_needs(tree: Path, python: str) -> Needs:
    """Return the requirements of a tree.

    Raises:
        SweError: if the package does not run on this version of Python.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    needs = Needs(tree, python)
    try:
        fits = SpecifierSet(needs.requires_python).contains(python)
    except InvalidSpecifier:
        fits = True
    if not fits:
        raise SweError(
            f"{needs.package} needs Python {needs.requires_python}, and the image has {python}; name an older release"
        )
    return needs


def fetch_wheels(needs: Needs, python: str, folder: Path) -> list[str]:
    """Fetch the wheels of a package's requirements, from the user's index, and return the requirements that were met.

    Only wheels are fetched, for the system of the image, so that no code of a stranger runs here. A requirement of the
    tests that cannot be met is left out: its tests fail when they are collected, and are in no task. A module that
    tests import, and that no wheel has, is looked for under its own name.

    Raises:
        SweError: if a requirement of the package itself cannot be met.
    """
    folder.mkdir(parents=True, exist_ok=True)
    needed, wanted = [*TEST_TOOLS, *needs.required], list(needs.for_tests)
    while (why := _fetched([*needed, *wanted], python, folder)) is not None:
        if not wanted:
            raise SweError(
                f"the requirements of {needs.package} cannot be had as wheels for Python {python}: {why[-1]}"
            )
        wanted = _without_the_missing(wanted, why)
    needed += wanted
    undeclared = sorted(needs.undeclared - _modules(folder))
    while undeclared and (why := _fetched([*needed, *undeclared], python, folder)) is not None:
        undeclared = _without_the_missing(undeclared, why)
    return [*needed, *undeclared]


def _modules(folder: Path) -> set[str]:
    """Return the modules at the top of wheels."""
    found = set()
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                parts = name.split("/")
                if parts[0].endswith(".data"):
                    parts = parts[2:]  # that of the data, and its scheme
                found.add(parts[0].partition(".")[0] if parts else "")
    return found


def _without_the_missing(wanted: list[str], why: Sequence[str]) -> list[str]:
    """Return requirements of tests without those that pip names as missing, or of which it has no version that fits.

    If it names none, all lose their versions, and then one goes: a call of pip for each takes too long.
    """
    named = {canonicalize_name(each) for line in why for each in _NAMED.findall(line.partition("(from versions")[0])}
    left = [each for each in wanted if _name(each) not in named]
    if len(left) < len(wanted):
        return left
    listed = {
        canonicalize_name(each) for line in why for part in _CONFLICT.findall(line) for each in _FIRST.findall(part)
    }
    conflicting = [each for each in wanted if _name(each) in listed]
    loose = [str(Requirement(each).name) if len(conflicting) != 1 or each in conflicting else each for each in wanted]
    gone = (conflicting or wanted)[-1]
    return loose if loose != wanted else [each for each in wanted if each != gone]


def _fetched(requirements: list[str], python: str, folder: Path) -> list[str] | None:
    """Fetch wheels; return the lines with the reason of a failure, or None."""
    short = "".join(python.split(".")[:2])
    machine = platform.machine()
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--only-binary", ":all:",
        "--dest", str(folder),
        "--python-version", ".".join(python.split(".")[:2]), "--implementation", "cp",
        "--abi", f"cp{short}", "--abi", "abi3", "--abi", "none",
        *(word for libc in _LIBC for word in ("--platform", f"{libc}_{machine}")),
        *requirements,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)  # noqa: S603
    if done.returncode == 0:
        return None
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")] or done.stderr.splitlines()
    return [line.removeprefix("ERROR:").strip() for line in lines] or [f"pip ended with exit code {done.returncode}"]


def _name(requirement: str) -> str:
    return canonicalize_name(Requirement(requirement).name)


class _TestImports:
    """What files of tests import.

    Args:
        tree: a package's source.
    """

    def __init__(self, tree: Path) -> None:
        self.anywhere: set[str] = set()
        """Top-level modules, and plugins of pytest that are named, written as distributions."""
        self.first: set[str] = set()
        """Top-level modules that a file imports in any case, as it begins."""
        self.own: set[str] = set()
        """Modules and folders of the tree, by their own names."""
        self.used: set[tuple[str, str]] = set()
        """``fixtures`` and the names of the tests' parameters, ``marks`` and those of pytest's marks."""
        self.functions: set[str] = set()
        """Those of the files, with the fixtures among them."""
        for path in tree.rglob("*.py"):
            inside = path.relative_to(tree)
            self.own.update(part.removesuffix(".py") for part in inside.parts)
            if is_test_file(str(inside)):
                with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
                    self._read(ast.parse(path.read_bytes()))

    def _read(self, module: ast.Module) -> None:
        self.first.update(name for node in module.body for name in _imported(node))
        for node in ast.walk(module):
            self.anywhere.update(map(canonicalize_name, _imported(node)))
            if isinstance(node, ast.Assign) and any(
                getattr(each, "id", "") == "pytest_plugins" for each in node.targets
            ):
                named = [each.value for each in ast.walk(node.value) if isinstance(each, ast.Constant)]
                found = [each.partition(".")[0] for each in named if isinstance(each, str)]
                self.anywhere.update(map(canonicalize_name, found))
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.functions.add(node.name)
                self.used.update(("fixtures", each.arg) for each in (*node.args.args, *node.args.kwonlyargs))
            elif (
                isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "mark"
            ):
                self.used.add(("marks", node.attr))


def _plugins(tree: Path, imports: _TestImports) -> set[str]:
    """Return the modules of the plugins of pytest that tests use without a word."""
    table = tomllib.loads(Path(__file__).with_name("test_plugins.toml").read_text(encoding="utf-8"))
    files = [
        path for name in ("pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg") if (path := tree / name).is_file()
    ]
    configured = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in files)
    used = {(group, name) for group, name in imports.used if group != "fixtures" or name not in imports.functions}
    used |= {("options", name) for name in re.findall(r"^\s*(\w+)\s*=", configured, re.MULTILINE)}
    return {module for group, named in table.items() for name, module in named.items() if (group, name) in used}


def _imported(node: ast.AST) -> list[str]:
    """Return the top-level modules of an import; none for another node."""
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        return [node.module.partition(".")[0]]
    return []


def _pyproject(tree: Path) -> dict[str, Any]:
    try:
        return tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}


def _of_egg_info(tree: Path) -> list[str]:
    """Return what old releases of setuptools leave out of an archive's PKG-INFO, as lines of Requires-Dist.

    They stand in ``requires.txt``, whose sections are ``[extra]``, ``[:marker]`` or ``[extra:marker]``.
    """
    lines: list[str] = []
    for path in sorted((*tree.glob("*.egg-info/requires.txt"), *tree.glob("*/*.egg-info/requires.txt"))):
        markers: list[str] = []
        for line in _lines(path.read_text(encoding="utf-8", errors="replace")):
            if line.startswith("[") and line.endswith("]"):
                extra, _, marker = line[1:-1].partition(":")
                markers = [f"({marker})"] * bool(marker) + [f"extra == '{extra}'"] * bool(extra)
            else:
                lines.append(f"{line} ; {' and '.join(markers)}" if markers else line)
    return lines


def _group(groups: dict[str, Any], name: str, seen: set[str]) -> list[str]:
    """Return the lines of a dependency group with those that it includes (PEP 735)."""
    lines: list[str] = []
    if name in seen or not isinstance(groups.get(name), list):
        return lines
    seen.add(name)
    for entry in groups[name]:
        if isinstance(entry, str):
            lines.append(entry)
        elif isinstance(entry, dict):
            lines += _group(groups, str(entry.get("include-group")), seen)
    return lines


def _lines(text: str) -> list[str]:
    """Return the requirements of a requirements file; its options and the files that it includes are left out."""
    return [line for each in text.splitlines() if (line := each.split(" #")[0].strip()) and line[0] not in "#-"]


def _of_tox(tree: Path) -> list[str]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read(tree / "tox.ini", encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return []
    lines: list[str] = []
    for section in parser.sections():
        if section == "testenv" or section.startswith(("testenv:py", "testenv:test")):
            lines += [line for line in _lines(parser.get(section, "deps", fallback="")) if "{" not in line]
    return [line.split(": ", 1)[-1] for line in lines]
