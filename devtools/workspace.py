"""The packages of the workspace, their dependencies on each other, and what a change touches."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from devtools.shell import ROOT, fail, output_of

# A change here can change the outcome of any test.
EVERYWHERE = ("conftest.py", "pyproject.toml")
# Changes whose tests the file names in `tests/` do not show.
CONCERNS = (
    (
        re.compile(r"(dev\.py|devtools/.*|\.ci/.*)"),
        ("test_dev.py", "test_ci.py", "test_strangers.py", "test_touched.py"),
    ),
    (re.compile(r"\.github/.*"), ("test_ci.py", "test_dev.py", "test_packages.py")),
    (re.compile(r"hub/(official_index\.py|(index|results)/.*)"), ("test_official_index.py", "test_documents.py")),
    (re.compile(r"changelog\.d/.*"), ("test_changelog.py",)),
    (re.compile(r"CONTRIBUTING\.md"), ("test_contributing.py", "test_documents.py", "test_dev.py")),
    (
        re.compile(r"README\.md"),
        (
            "test_dev.py",
            "test_documents.py",
            "test_guides.py",
            "test_packages.py",
            "test_published_snippets.py",
            "test_strangers.py",
        ),
    ),
    (
        re.compile(r"(.*\.md|docs/.*|examples/.*)"),
        ("test_documents.py", "test_guides.py", "test_published_snippets.py", "test_start_environment.py"),
    ),
)


@dataclass(frozen=True)
class Touched:
    """The extent of a change.

    Attributes:
        base: the commit that the change is compared with; None when everything counts as touched.
        files: the changed files, relative to the root.
        changed: the packages in whose folders files have changed.
        dependants: the packages that depend on those, directly or not.
        tests: the files in the top-level ``tests/`` that the change concerns.
    """

    base: str | None
    files: tuple[str, ...]
    changed: tuple[str, ...]
    dependants: tuple[str, ...]
    tests: tuple[str, ...]

    @property
    def packages(self) -> tuple[str, ...]:
        """The changed packages and their dependants, sorted."""
        return tuple(sorted({*self.changed, *self.dependants}))


def project_files(root: Path = ROOT) -> list[Path]:
    """Return the pyproject.toml of every package."""
    return sorted([*root.glob("packages/*/pyproject.toml"), *root.glob("hub/pyproject.toml")])


def package_folders(root: Path = ROOT) -> dict[str, Path]:
    """Return the packages: distribution name → folder."""
    folders = {}
    for project in project_files(root):
        # Python 3.10 has no reader of TOML, and nothing else is installed yet.
        name = re.search(r'^name = "(.+)"$', project.read_text(encoding="utf-8"), re.MULTILINE)
        assert name is not None, project
        folders[name[1]] = project.parent
    return folders


def requirements(root: Path = ROOT, *, extras: bool) -> dict[str, frozenset[str]]:
    """Return for each package the other packages that its pyproject.toml requires, with or without its extras."""
    folders = package_folders(root)
    required = {}
    for name, folder in folders.items():
        text = (folder / "pyproject.toml").read_text(encoding="utf-8")
        tables = re.findall(r"^dependencies = \[(.*?)\]$", text, re.MULTILINE | re.DOTALL)
        if extras:
            table = r"^\[project\.optional-dependencies\]\n(.*?)(?=^\[|\Z)"
            tables += re.findall(table, text, re.MULTILINE | re.DOTALL)
        named = {normalized(found) for found in re.findall(r'"([A-Za-z][\w.-]*)', "".join(tables))}
        required[name] = frozenset((named & folders.keys()) - {name})
    return required


def normalized(name: str) -> str:
    """Return a distribution's name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def dependants(changed: Iterable[str], required: dict[str, frozenset[str]]) -> set[str]:
    """Return the packages that depend on some packages, directly or through others, without these themselves."""
    found = set(changed)
    while more := {name for name, needed in required.items() if needed & found} - found:
        found |= more
    return found - set(changed)


def touched(base: str | None = None, root: Path = ROOT) -> Touched:
    """Compare the working tree with a commit.

    Args:
        base: the commit; by default the merge base with ``origin/main``, ``main`` or the upstream branch, the first of
            them that exists.
        root: the workspace.
    """
    base = base or merge_base(root)
    changes = output_of("git", "diff", "--no-renames", "--name-only", "-z", base, cwd=root)
    new = output_of("git", "ls-files", "--others", "--exclude-standard", "-z", cwd=root)
    if changes is None or new is None:
        fail(f"git cannot compare the working tree with {base}")
    return classify(sorted(filter(None, (changes + new).split("\0"))), base, root)


def merge_base(root: Path = ROOT) -> str:
    """Return the commit at which the current branch left its target branch."""
    # The upstream comes last: after `git push -u` it is the branch's own copy on the server.
    branches = ("origin/main", "main", "@{upstream}")
    bases = (output_of("git", "merge-base", "HEAD", branch, cwd=root) for branch in branches)
    found = next(filter(None, bases), None)
    if found is None:
        fail("git knows no origin/main, no main and no upstream branch to compare with; name a commit with --base")
    return found.strip()


def classify(files: Iterable[str], base: str | None, root: Path = ROOT) -> Touched:
    """Return the effect of changes in some files."""
    files = tuple(files)
    if any(file in EVERYWHERE for file in files):
        return everything(base, files, root)
    folders = {name: folder.relative_to(root).as_posix() + "/" for name, folder in package_folders(root).items()}
    changed = {name for name, folder in folders.items() if any(file.startswith(folder) for file in files)}
    present = {path.name for path in (root / "tests").glob("test_*.py")}
    concerned = {file.removeprefix("tests/") for file in files if file.startswith("tests/")}
    for file in files:
        concerned.update(next((tests for pattern, tests in CONCERNS if pattern.fullmatch(file)), ()))
    required = requirements(root, extras=True)
    # What the extras of gem-core bring stands above it, so that gem-core's tests do not depend on it.
    required |= {name: needed for name, needed in requirements(root, extras=False).items() if name == "gem-core"}
    more = dependants(changed, required)
    return Touched(base, files, tuple(sorted(changed)), tuple(sorted(more)), tuple(sorted(concerned & present)))


def everything(base: str | None = None, files: tuple[str, ...] = (), root: Path = ROOT) -> Touched:
    """Return the value for a change of everything."""
    tests = sorted(path.name for path in (root / "tests").glob("test_*.py"))
    return Touched(base, files, tuple(sorted(package_folders(root))), (), tuple(tests))
