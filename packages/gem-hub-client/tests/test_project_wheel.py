"""The wheel of a project, which ``gem hub publish FOLDER`` builds with the user's own installer."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from gem_hub_client.errors import HubError
from gem_hub_client.project_wheel import wheels_of

PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "my-envs"
version = "0.1.0"
"""

BACKEND = """
import zipfile

def build_wheel(folder, config_settings=None, metadata_directory=None):
    name = "my_envs-0.1.0-py3-none-any.whl"
    info = "my_envs-0.1.0.dist-info"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as archive:
        archive.writestr("my_envs/__init__.py", open("source.py").read())
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: my-envs\\nVersion: 0.1.0\\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr(f"{info}/RECORD", "")
    return name
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a blank in its path, whose backend needs nothing that would have to be installed."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("UV_OFFLINE", "1")
    folder = tmp_path / "my projects" / "my-envs"
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    (folder / "backend.py").write_text(BACKEND, encoding="utf-8")
    (folder / "source.py").write_text("VERSION = 1\n", encoding="utf-8")
    return folder


def test_the_wheel_of_a_project_is_built_from_what_is_there_now(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It lies in the project's dist beside others, takes the place of an older build, and wheels stay as named."""
    older = project / "dist" / "my_envs-0.1.0-py3-none-any.whl"
    monkeypatch.chdir(project.parent)
    other = project / "dist" / "my_envs-0.0.9-py3-none-any.whl"
    other.parent.mkdir()
    other.touch()
    older.touch()
    built, named = wheels_of([Path("my-envs"), other])
    assert (built, named) == (Path("my-envs", "dist", older.name), other)
    with zipfile.ZipFile(built) as archive:
        assert archive.read("my_envs/__init__.py").decode() == "VERSION = 1\n"
    assert {*other.parent.iterdir()} == {other, older}


@pytest.mark.nightly(reason="another build")
def test_a_build_that_fails_leaves_nothing(project: Path) -> None:
    """The installer's words come before one sentence, and dist is not made."""
    (project / "backend.py").write_text("raise SystemExit('no')", encoding="utf-8")
    with pytest.raises(HubError, match="failed with exit code"):
        wheels_of([project])
    assert not (project / "dist").exists()


def test_a_folder_that_is_no_project_is_refused(tmp_path: Path) -> None:
    """Such as one of wheels, for which the message has the words."""
    with pytest.raises(HubError, match=r"without pyproject\.toml; name a project or wheels: gem hub publish .*\*\.whl"):
        wheels_of([tmp_path])
