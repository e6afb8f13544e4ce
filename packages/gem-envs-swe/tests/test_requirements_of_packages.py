"""What a package and its tests need is read from its tree."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from gem_envs_swe.errors import SweError
from gem_envs_swe.making.requirements import Needs, fetch_wheels, read_needs

METADATA = """\
Metadata-Version: 2.4
Name: Shelf_Mark
Version: 1
Requires-Python: >=3.9
Requires-Dist: needed>=1
Requires-Dist: only-elsewhere; sys_platform == "win32"
Requires-Dist: for-tests; extra == "test"
Requires-Dist: pytest-cov; extra == "test"
Requires-Dist: for-docs; extra == "docs"
Requires-Dist: shelf-mark[test]; extra == "dev"
Provides-Extra: test
Provides-Extra: docs
Provides-Extra: dev
"""
PROJECT = """\
[build-system]
requires = ["hatchling", "at-an-address @ file:///x"]

[dependency-groups]
tests = ["in-a-group", { include-group = "more" }]
more = ["included", { include-group = "tests" }]
docs = ["sphinx"]
"""


def needs(tree: Path, **files: str) -> Needs:
    """Write a tree and read it."""
    for name, text in {"PKG-INFO": METADATA, "pyproject.toml": PROJECT, **files}.items():
        (tree / name).write_text(text, encoding="utf-8")
    return read_needs(tree, "3.11.2")


def test_requirements_hold_for_the_image(tmp_path: Path) -> None:
    """Those of the build and the package are taken whose markers hold; none that would be fetched from elsewhere."""
    assert needs(tmp_path).required == ["hatchling", "needed>=1"]


def test_tests_bring_what_the_tree_says(tmp_path: Path) -> None:
    """Extras, groups with what they include, files and tox are read; developers' tools are left out."""
    found = needs(
        tmp_path,
        **{
            "requirements-test.txt": "# comment\nin-a-file==1  # why\n-r other.txt\nnot a requirement\n",
            "tox.ini": "[testenv]\ndeps =\n    in-tox\n    -r{toxinidir}/x.txt\n[testenv:docs]\ndeps = sphinx\n",
        },
    )
    assert found.for_tests == ["for-tests", "in-a-group", "included", "in-a-file==1", "in-tox"]


def test_old_archives_have_their_requirements_beside_the_metadata(tmp_path: Path) -> None:
    """``requires.txt`` is read, with the markers and extras of its sections, where PKG-INFO lists no requirements."""
    (tmp_path / "src" / "shelf_mark.egg-info").mkdir(parents=True)
    (tmp_path / "src" / "shelf_mark.egg-info" / "requires.txt").write_text(
        "old>=1\nnot a requirement\n\n[:python_version < '3.12']\nbackport\n\n[:python_version < '3']\ntoo-old\n\n"
        "[docs]\nsphinx\n\n[test]\nresponses\n\n[test:sys_platform == 'linux' or sys_platform == 'darwin']\npexpect\n"
    )
    found = needs(tmp_path, **{"PKG-INFO": "Metadata-Version: 2.1\nName: shelf-mark\nVersion: 1\n"})
    assert found.required == ["hatchling", "old>=1", "backport"]
    assert found.for_tests == ["responses", "pexpect", "in-a-group", "included"]
    assert needs(tmp_path).required == ["hatchling", "needed>=1"]


def test_what_tests_import_is_needed_wherever_it_is_declared(tmp_path: Path) -> None:
    """A developers' tool or an extra for documents is taken if a test imports it or names it as a plugin of pytest."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "conftest.py").write_text('pytest_plugins = ["sphinx.testing.fixtures"]\nimport for_docs.x\n')
    (tmp_path / "tests" / "test_odd.py").write_text("from undeclared import this\nfrom . import that\n")
    (tmp_path / "tests" / "test_broken.py").write_text("import mypy (\n")
    found = needs(tmp_path, **{"requirements-test.txt": "mypy\nin-a-group==2\npytest==7\nneeded==1\n"})
    assert found.for_tests == ["for-tests", "in-a-group", "included", "for-docs", "sphinx"]


def test_modules_that_tests_begin_with_may_be_undeclared(tmp_path: Path) -> None:
    """Those of the tree and of Python itself are not among them, nor what a test can do without."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "helpers.py").write_text("")
    (tmp_path / "shelf_mark").mkdir()
    (tmp_path / "shelf_mark" / "__init__.py").write_text("import of_the_package")
    (tmp_path / "tests" / "test_some.py").write_text(
        "import os.path, psutil._common\nfrom helpers import x\nfrom shelf_mark import y\nfrom . import z\n"
        "try:\n    import spare\nexcept ImportError:\n    pass\n"
    )
    assert needs(tmp_path).undeclared == {"psutil"}


def test_plugins_of_pytest_may_be_undeclared(tmp_path: Path) -> None:
    """A fixture, a mark or an option tells of one, but for a fixture of the tests' own."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "conftest.py").write_text("import pytest\n\n@pytest.fixture\ndef snapshot():\n    pass\n")
    (tmp_path / "tests" / "test_some.py").write_text(
        "import pytest\n\n@pytest.mark.trio\nasync def test_it(mocker, snapshot, tmp_path):\n    pass\n"
    )
    (tmp_path / "setup.cfg").write_text("[tool:pytest]\nasyncio_mode = auto\n")
    assert needs(tmp_path).undeclared == {"pytest", "pytest_mock", "pytest_trio", "pytest_asyncio"}


def wheel(folder: Path, name: str, requires: str = "", module: str = "", version: int = 1) -> None:
    """Write a wheel that holds nothing, or an empty module."""
    stem = f"{name.replace('-', '_')}-{version}"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as archive:
        asked = f"Requires-Dist: {requires}\n" if requires else ""
        archive.writestr(
            f"{stem}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{asked}"
        )
        archive.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nTag: py3-none-any\n")
        archive.writestr(f"{stem}.dist-info/RECORD", "")
        if module:
            archive.writestr(module, "")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("asked", "got"),
    [
        (["there==1", "nowhere==2"], ["there==1"]),
        (["there==1", "asks-for-nowhere"], ["there==1"]),
        (["there==2", "also-there"], ["also-there"]),
        (["there==1", "one"], ["there==1", "one"]),
        (["one==1", "two==1"], ["one"]),
        (["one==1", "two==1", "also-there"], ["one", "also-there"]),
        (["there==1", "each-asks", "also-there==1"], ["there==1", "also-there==1"]),
    ],
    ids=[
        "missing",
        "asks for what is missing",
        "no such version",
        "all",
        "conflict",
        "conflict before others",
        "each version asks for what is missing",
    ],
)
def test_requirements_of_tests_that_cannot_be_had_are_left_out(
    asked: list[str], got: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What pip names is left out, and where requirements contradict each other, as few as need be."""
    tools = ("pip", "setuptools", "wheel", "editables", "there", "also-there", "hatchling", "needed")
    for name in tools:
        wheel(tmp_path, name)
    monkeypatch.setattr("gem_envs_swe.making.requirements.TEST_TOOLS", tools[:4])
    for name, requires in (("asks-for-nowhere", "nowhere"), ("one", "there<2"), ("two", "there>=2")):
        wheel(tmp_path, name, requires)
    for version in (1, 2):
        wheel(tmp_path, "each-asks", "nowhere", version=version)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    found = needs(tmp_path)
    found.for_tests = asked
    assert fetch_wheels(found, "3.11.2", tmp_path / "fetched") == [*tools[:4], *found.required, *got]
    found.required.append("nowhere")
    with pytest.raises(SweError, match=r"requirements of shelf-mark cannot be had as wheels .* nowhere"):
        fetch_wheels(found, "3.11.2", tmp_path / "fetched")


@pytest.mark.nightly
def test_undeclared_modules_are_looked_for_under_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution of a module's name is taken, unless a wheel that was fetched has the module."""
    wheel(tmp_path, "hatchling")
    wheel(tmp_path, "needed", module="taken/__init__.py")
    wheel(tmp_path, "also-needed", module="also_needed-1.data/purelib/moved.py")
    for name in ("taken", "moved", "psutil"):
        wheel(tmp_path, name)
    monkeypatch.setattr("gem_envs_swe.making.requirements.TEST_TOOLS", ("also-needed",))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    found = needs(tmp_path)
    found.for_tests = []
    found.undeclared = {"taken", "moved", "psutil", "nowhere"}
    assert fetch_wheels(found, "3.11.2", tmp_path / "fetched") == ["also-needed", *found.required, "psutil"]


@pytest.mark.parametrize("project", ["not toml [", "build-system = 3", "[dependency-groups]\ntests = 3", "\ud7ff"])
def test_odd_project_files_are_read_as_empty(project: str, tmp_path: Path) -> None:
    """A file that cannot be read says nothing."""
    assert needs(tmp_path, **{"pyproject.toml": project}).required == ["needed>=1"]


def test_a_package_for_another_python_is_refused(tmp_path: Path) -> None:
    """The message has both versions."""
    with pytest.raises(SweError, match=r"needs Python >=3.12, and the image has 3\.11\.2"):
        needs(tmp_path, **{"PKG-INFO": METADATA.replace(">=3.9", ">=3.12")})
