"""dev.py, the script behind the two set-up commands."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = ["README.md", "CONTRIBUTING.md", ".github/workflows/ci.yml", ".ci/run"]
COMMANDS = {
    *("demo", "test", "quick", "lint", "package", "touched"),
    *("mutants", "release", "setup", "site", "strangers"),
}


@pytest.fixture(autouse=True)
def _import_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The script finds its parts beside itself."""
    monkeypatch.syspath_prepend(str(ROOT))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, ROOT / "dev.py", *arguments], capture_output=True, text=True, check=False)


def test_help_lists_the_commands_that_the_documents_use() -> None:
    """Every 'python3 dev.py NAME' that is written down somewhere is one that the script describes."""
    shown = run("--help")
    assert shown.returncode == 0
    known = set(re.findall(r"python3 dev\.py (\w+)", shown.stdout))
    assert known == COMMANDS
    for document in DOCUMENTS:
        assert set(re.findall(r"python3 dev\.py (\w+)", (ROOT / document).read_text(encoding="utf-8"))) <= known


def test_an_unknown_command_shows_the_usage() -> None:
    """A misspelt command, or arguments of a command without any, change nothing and fail with the usage."""
    for arguments in (["fly"], ["demo", "--fast"], ["lint", "gem-core"]):
        done = run(*arguments)
        assert done.returncode == 2
        assert "python3 dev.py test" in done.stdout


def test_an_unknown_package_is_named() -> None:
    """The message says which packages there are."""
    done = run("package", "gem-nothing")
    assert done.returncode == 1
    assert "gem-nothing" in done.stderr
    assert "gem-envs-games" in done.stderr


def test_all_means_the_whole_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    """--all becomes pytest's tier, and all other arguments are passed on."""
    import dev
    from devtools import environments

    ran: list[tuple[str, ...]] = []
    monkeypatch.setattr(environments, "hatch_run", lambda *command: ran.append(command) or 0)
    dev.main(["test", "-k", "Sudoku"])
    dev.main(["test", "--all", "packages"])
    assert ran == [("default", "test", "-k", "Sudoku"), ("default", "test", "--tier", "all", "packages")]


def test_everything_can_be_asked_for() -> None:
    """For programs, the touched packages and tests are JSON."""
    found = json.loads(run("touched", "--everything", "--json").stdout)
    assert {"gem-core", "gem-hub", "gem-terminal"} <= set(found["packages"])
    assert Path(__file__).name in found["tests"]


def test_a_wheel_is_tested_with_all_that_it_requires() -> None:
    """The packages that a package requires are found through those that they require."""
    from devtools.alone import closure

    required = {name: frozenset(needed.split()) for name, needed in {"a": "b c", "b": "d", "c": "d", "d": "a"}.items()}
    assert closure(["a"], required) == ["a", "b", "c", "d"]
    assert closure(["d"], required) == ["d", "a", "b", "c"]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A workspace in a temporary folder, whose environments are links to interpreters."""
    from devtools import environments

    root = tmp_path / "a path of some length with a blank and an ü, as it may lie in a home folder or below a mount"
    package = root / "packages" / "thing"
    package.mkdir(parents=True)
    (package / "pyproject.toml").write_text('name = "thing"\n', encoding="utf-8")
    monkeypatch.setattr(environments, "ROOT", root)
    monkeypatch.setattr(environments, "HOME", root / ".hatch")
    monkeypatch.setattr(environments, "ENVIRONMENTS", {"default": root / ".venv"})
    monkeypatch.setattr(environments, "ensure_hatch", lambda: None)
    monkeypatch.setattr(environments, "project_files", lambda root: sorted(root.glob("packages/*/pyproject.toml")))

    def make(folder: Path, interpreter: str | None = None) -> None:
        """Make what Hatch would: an environment of this Python, or of one that says something else."""
        python = environments.python_of(folder)
        python.parent.mkdir(parents=True)
        if interpreter is None:
            python.symlink_to(sys.executable)
        else:
            python.write_text(f"#!/bin/sh\necho {interpreter}\n", encoding="utf-8")
            python.chmod(0o755)

    return SimpleNamespace(root=root, package=package, venv=root / ".venv", make=make, environments=environments)


def test_the_environment_is_kept_while_nothing_changes(workspace: SimpleNamespace) -> None:
    """A second run uses what the first has made."""
    assert workspace.environments.prepare("default") == workspace.venv
    workspace.make(workspace.venv)
    assert workspace.environments.prepare("default") == workspace.venv
    assert workspace.venv.exists()


@pytest.mark.parametrize("change", ["entry points", "package gone", "package renamed"])
def test_the_environment_is_made_again_when_the_packaging_changes(
    workspace: SimpleNamespace, capsys: pytest.CaptureFixture[str], change: str
) -> None:
    """A change that Hatch itself does not notice removes the environment, once."""
    workspace.environments.prepare("default")
    workspace.make(workspace.venv)
    project = workspace.package / "pyproject.toml"
    if change == "entry points":
        project.write_text('name = "thing"\n[project.entry-points."gem.envs"]\nthing = "thing"\n', encoding="utf-8")
    elif change == "package gone":
        project.unlink()
    else:
        workspace.package.rename(workspace.package.with_name("other"))
    workspace.environments.prepare("default")
    assert not workspace.venv.exists()
    assert "the packaging has changed; making .venv again" in capsys.readouterr().err
    workspace.make(workspace.venv)
    workspace.environments.prepare("default")
    assert workspace.venv.exists()


def test_another_python_gets_an_environment_of_its_own(
    workspace: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    """The environment of another Python stays as it is, and the message says whose it is."""
    workspace.environments.prepare("default")
    workspace.make(workspace.venv, "cpython-309")
    own = workspace.environments.prepare("default")
    assert own == workspace.root / ".hatch" / workspace.environments.TAG / "default"
    assert workspace.venv.exists()
    said = capsys.readouterr().err
    assert f".venv belongs to cpython-309, this is {workspace.environments.TAG}; using" in said
    assert "packaging" not in said
    # A change of the packaging makes each again when its Python is used, and not before.
    workspace.make(own)
    (workspace.package / "pyproject.toml").unlink()
    workspace.environments.prepare("default")
    assert not own.exists()
    assert workspace.venv.exists()


def test_an_environment_whose_python_is_gone_is_made_again(
    workspace: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    """An interpreter that was removed or replaced by another version is the reason that the message gives."""
    workspace.environments.prepare("default")
    workspace.make(workspace.venv)
    python = workspace.environments.python_of(workspace.venv)
    python.unlink()
    python.symlink_to("/nowhere/python3")
    assert workspace.environments.prepare("default") == workspace.venv
    assert not workspace.venv.exists()
    assert "its Python is gone; making .venv again" in capsys.readouterr().err


def test_an_environment_of_somebody_else_is_never_removed(workspace: SimpleNamespace) -> None:
    """A .venv from before the first run survives every change; a broken one is an error."""
    workspace.make(workspace.venv)
    workspace.environments.prepare("default")
    (workspace.package / "pyproject.toml").unlink()
    workspace.environments.prepare("default")
    assert workspace.venv.exists()
    workspace.environments.python_of(workspace.venv).unlink()
    with pytest.raises(SystemExit, match="has not made it"):
        workspace.environments.prepare("default")
    assert workspace.venv.exists()


def test_uv_uses_the_indexes_of_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    """The indexes of pip's configuration reach uv, unless uv has settings of its own."""
    from devtools.environments import uv_variables

    for name in [name for name in os.environ if name.startswith(("UV_", "PIP_")) or name == "SSL_CERT_FILE"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "file:///mirror/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "file:///one/simple file:///two/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", "/wheels /more")
    assert uv_variables() == {
        "UV_DEFAULT_INDEX": "file:///mirror/simple",
        "UV_INDEX": "file:///one/simple file:///two/simple",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_FIND_LINKS": "/wheels,/more",
    }
    monkeypatch.setenv("UV_DEFAULT_INDEX", "file:///own/simple")
    assert "UV_DEFAULT_INDEX" not in uv_variables()


@pytest.mark.parametrize("lack", ["compiler", "headers", None])
def test_without_a_compiler_everything_else_is_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lack: str | None
) -> None:
    """Uv leaves out the one dependency without wheels where it could not be compiled, and only there."""
    from devtools import environments

    (tmp_path / "Python.h").touch()
    include = tmp_path / "nowhere" if lack == "headers" else tmp_path
    monkeypatch.setattr(environments.sysconfig, "get_path", lambda name: str(include))
    monkeypatch.setattr(environments.shutil, "which", lambda name: None if lack == "compiler" else f"/usr/bin/{name}")
    monkeypatch.setattr(environments, "HOME", tmp_path / ".hatch")
    overrides = environments.uncompilable()
    assert (overrides is None) == (lack is None)
    if overrides is not None:
        assert overrides.read_text(encoding="utf-8") == "pycosat ; python_version < '0'\n"
        variables = environments.hatch_variables(tmp_path / ".hatch" / "default")
        assert variables["UV_OVERRIDE"] == str(overrides)


def test_uv_is_told_what_to_leave_out_below_a_path_with_a_blank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blanks separate the files of uv's variable, so the list lies in a folder without any."""
    from devtools import environments

    home = tmp_path / "with a blank" / ".hatch"
    monkeypatch.setattr(environments, "HOME", home)
    monkeypatch.setattr(environments.shutil, "which", lambda name: None)
    (overrides,) = environments.hatch_variables(home / "default")["UV_OVERRIDE"].split()
    assert Path(overrides).read_text(encoding="utf-8").startswith("pycosat ")


def test_the_environments_are_those_of_the_workspace() -> None:
    """Each environment lies where pyproject.toml tells Hatch to put it."""
    from devtools.environments import ENVIRONMENTS

    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    placed = re.findall(r'^\[tool\.hatch\.envs\.(\w+)\]\n(?:template.*\n)?path = "(.+)"$', settings, re.MULTILINE)
    assert {name: ROOT / path for name, path in placed} == ENVIRONMENTS


def test_settings_of_the_machine_that_would_cost_or_mislead_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that forbids bytecode would let each process of the tests compile its imports anew."""
    from devtools.shell import environment

    foreign = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "VIRTUAL_ENV", "UV_PYTHON")
    for name in foreign:
        monkeypatch.setenv(name, "1")
    assert not set(foreign) & environment(None).keys()
    assert environment({"PYTHONDONTWRITEBYTECODE": "1"})["PYTHONDONTWRITEBYTECODE"] == "1"
