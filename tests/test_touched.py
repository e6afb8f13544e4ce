"""The extent of a change: the packages and tests that 'dev.py quick' and the workflow choose."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]

PACKAGES = {
    "packages/base": 'name = "base"\ndependencies = ["click>=8"]\n[project.optional-dependencies]\ntest = ["kit"]\n',
    "packages/kit": 'name = "kit"\ndependencies = [\n  "base[extra]>=1",\n]\n',
    "packages/games": 'name = "games"\ndependencies = ["Base <2"]\n[project.entry-points]\n',
    "packages/tools": 'name = "tools"\ndependencies = []\n',
    "hub": 'name = "gem-hub"\ndependencies = ["tools"]\n',
}
TESTS = ("test_changelog.py", "test_dev.py", "test_documents.py", "test_official_index.py", "test_packages.py")


@pytest.fixture(autouse=True)
def _import_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small workspace of five packages."""
    for folder, text in PACKAGES.items():
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "pyproject.toml").write_text(f"[project]\n{text}", encoding="utf-8")
    (tmp_path / "tests").mkdir()
    for name in TESTS:
        (tmp_path / "tests" / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("file", "packages", "tests"),
    [
        ("packages/games/src/games.py", ["games"], []),
        ("packages/base/src/base.py", ["base", "games", "kit"], []),
        # The extra of base brings kit to the tests of base, and so every package that needs base is tested with it.
        ("packages/kit/src/kit.py", ["base", "games", "kit"], []),
        ("packages/tools/tests/test_tools.py", ["gem-hub", "tools"], []),
        ("hub/src/gem_hub/store.py", ["gem-hub"], []),
        ("packages/games/README.md", ["games"], ["test_documents.py"]),
        ("docs/guides/tools.md", [], ["test_documents.py"]),
        ("devtools/quick.py", [], ["test_dev.py"]),
        ("README.md", [], ["test_dev.py", "test_documents.py", "test_packages.py"]),
        (".github/workflows/ci.yml", [], ["test_dev.py", "test_packages.py"]),
        ("changelog.d/+new.added.md", [], ["test_changelog.py"]),
        ("hub/official_index.py", ["gem-hub"], ["test_documents.py", "test_official_index.py"]),
        ("hub/index/README.md", ["gem-hub"], ["test_documents.py", "test_official_index.py"]),
        ("tests/test_packages.py", [], ["test_packages.py"]),
        ("tests/test_removed.py", [], []),
        ("LICENSE", [], []),
        ("conftest.py", ["base", "gem-hub", "games", "kit", "tools"], list(TESTS)),
    ],
)
def test_a_file_touches_its_package_and_the_dependants(
    root: Path, file: str, packages: list[str], tests: list[str]
) -> None:
    """A package's file touches the packages that depend on it, in an extra too; other files touch tests."""
    from devtools.workspace import classify

    change = classify([file], None, root)
    assert sorted(change.packages) == sorted(packages)
    assert list(change.tests) == tests


def test_the_tests_that_files_concern_exist() -> None:
    """A test file that was renamed or removed is no longer named."""
    from devtools.workspace import CONCERNS

    named = {name for _, tests in CONCERNS for name in tests}
    assert named <= {path.name for path in (ROOT / "tests").iterdir()}


def git(root: Path, *arguments: str) -> None:
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments]
    subprocess.run(command, cwd=root, check=True, capture_output=True)


def test_a_change_is_all_since_the_branch_began(root: Path, with_git: None) -> None:
    """Commits of the branch, what is not committed and new files count; what others have merged since does not."""
    from devtools.workspace import touched

    git(root, "init", "--quiet", "--initial-branch", "main")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "all")
    git(root, "checkout", "--quiet", "-b", "branch")
    (root / "packages" / "games" / "ein ü.py").touch()
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "games")
    (root / "hub" / "new.py").touch()
    git(root, "checkout", "--quiet", "main")
    (root / "packages" / "kit" / "other.py").touch()
    git(root, "add", "packages")
    git(root, "commit", "--quiet", "--message", "kit")
    git(root, "checkout", "--quiet", "branch")
    change = touched(root=root)
    assert change.files == ("hub/new.py", "packages/games/ein ü.py")
    assert change.changed == ("games", "gem-hub")
    assert change.dependants == ()


def test_what_was_pushed_still_belongs_to_the_change(root: Path, with_git: None) -> None:
    """The branch's own copy on the server, which ``git push -u`` makes its upstream, is not where it began."""
    from devtools.workspace import touched

    server = root.with_name("server")
    git(root, "init", "--quiet", "--initial-branch", "main")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "all")
    git(root, "init", "--quiet", "--bare", str(server))
    git(root, "remote", "add", "origin", str(server))
    git(root, "push", "--quiet", "origin", "main")
    git(root, "checkout", "--quiet", "-b", "branch")
    (root / "hub" / "new.py").touch()
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "new")
    git(root, "push", "--quiet", "--set-upstream", "origin", "branch")
    assert touched(root=root).files == ("hub/new.py",)


def test_requirements_are_those_of_the_packaging() -> None:
    """Reading without a TOML library gives the same values as with one."""
    from devtools.workspace import normalized, package_folders, requirements

    folders = package_folders()
    for extras in (False, True):
        found = requirements(extras=extras)
        for name, folder in folders.items():
            project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
            assert project["name"] == name
            lines = list(project.get("dependencies", []))
            if extras:
                lines += [line for group in project.get("optional-dependencies", {}).values() for line in group]
            named = {normalized(line.partition("[")[0].split(">")[0].split("=")[0].split("<")[0]) for line in lines}
            assert found[name] == (named & folders.keys()) - {name}


def test_the_packages_are_those_with_a_pyproject() -> None:
    """Names come from pyproject.toml, folders from where it lies."""
    from devtools.workspace import package_folders

    folders = package_folders()
    assert folders["gem-core"] == ROOT / "packages" / "gem-core"
    assert set(folders.values()) == {file.parent for file in ROOT.glob("packages/*/pyproject.toml")} | {ROOT / "hub"}


def test_quick_checks_what_has_changed(root: Path) -> None:
    """Changed Python files are linted, types are checked where the cache is, and the touched tests run."""
    from devtools.quick import lint, pytest_commands
    from devtools.workspace import classify

    (root / "packages" / "games" / "src").mkdir()
    (root / "packages" / "games" / "src" / "games.py").touch()
    (root / "packages" / "games" / "tests").mkdir()
    change = classify(["docs/a.md", "packages/games/src/games.py", "packages/games/src/removed.py"], None, root)
    names = [command[0] for command in lint(change, root)]
    assert names == ["ruff", "ruff"]
    assert lint(change, root)[0][-1] == "packages/games/src/games.py"
    (root / ".mypy_cache").mkdir()
    assert lint(change, root)[-1] == ("mypy",)
    (command,) = pytest_commands(change, ["-x"], root)
    assert command == ("quick-test", "packages/games/tests", "tests/test_documents.py", "-x")
    assert lint(classify(["docs/a.md"], None, root), root) == []


def test_of_packages_that_only_depend_on_a_change_one_variant_of_each_test_runs(root: Path) -> None:
    """Those of the changed package run all."""
    from devtools.quick import pytest_commands
    from devtools.workspace import Touched

    for name in ("base", "games"):
        (root / "packages" / name / "tests").mkdir()
    change = Touched("abc", (), ("base",), ("games",), ("test_names.py",))
    (command,) = pytest_commands(change, [], root)
    assert command[0] == "quick-test"
    assert [word for word in command if word.startswith("--")] == ["--one-variant=packages/games/tests"]
    assert {"packages/base/tests", "packages/games/tests", "tests/test_names.py"} <= set(command)
