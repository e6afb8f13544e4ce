"""What `gem check` and the guides approve, a hub takes: every package of this repository and of the guides."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gem_hub.policy import HubPolicy
from gem_hub.publishing import Destination, examine_all, publish
from gem_hub.store import Store

ROOT = Path(__file__).parents[2]
OURS = sorted(path.parent for path in (*ROOT.glob("packages/*/pyproject.toml"), *ROOT.glob("hub/pyproject.toml")))
GUIDES = sorted(ROOT.glob("docs/guides/*.md"))

pytestmark = pytest.mark.skipif(not (ROOT / "packages").is_dir(), reason="builds the packages of the workspace")


def build(projects: list[Path], folder: Path) -> list[Path]:
    options = ("--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder))
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, *map(str, projects)], check=True)
    return sorted(folder.glob("*.whl"))


def refusals(wheels: list[Path], hub: Path, publisher: str) -> list[str]:
    """Publish wheels without the kit, which runs elsewhere, and return what was refused."""
    destination = Destination(Store(hub), publisher, HubPolicy())
    attempts = examine_all(((path.name, path.read_bytes(), path) for path in wheels), destination)
    found = [f"{attempt.verdict.filename}: {refusal}" for attempt in attempts for refusal in attempt.refusals]
    if not found:
        assert {attempt.stage for attempt in publish(attempts, destination, lambda what: None)} == {"published"}
    return found


def written(guide: Path) -> dict[str, str]:
    """Return the files of a package that a guide has its reader write: path → text."""
    pattern = re.compile(r"<!-- file: (?P<path>\S+) -->\n```\w+\n(?P<text>.*?)```", re.DOTALL)
    return {match["path"]: match["text"] for match in pattern.finditer(guide.read_text(encoding="utf-8"))}


def started(guide: Path) -> list[list[str]]:
    """Return the arguments of each `gem new` in a guide."""
    return [line.split() for line in re.findall(r"^\$ gem new (.+)$", guide.read_text(encoding="utf-8"), re.MULTILINE)]


def test_a_dataset_package_and_the_command_are_taken(tmp_path: Path) -> None:
    """A reference policy of gem_questions is no module outside gem-envs-math, and gem-cli may bring the command gem."""
    wheels = build([ROOT / "packages/gem-envs-math", ROOT / "packages/gem-cli"], tmp_path / "wheels")
    owner = _account(tmp_path)
    assert refusals(wheels, tmp_path / "hub", owner) == []


@pytest.mark.nightly
def test_every_package_of_ours_is_taken(tmp_path: Path) -> None:
    """The operator of a fresh hub publishes all our wheels in one call."""
    wheels = build(OURS, tmp_path / "wheels")
    assert len(wheels) == len(OURS)
    assert refusals(wheels, tmp_path / "hub", _account(tmp_path)) == []


@pytest.mark.nightly
@pytest.mark.parametrize("guide", [guide for guide in GUIDES if started(guide)], ids=lambda guide: guide.stem)
def test_the_package_of_every_guide_is_taken(guide: Path, tmp_path: Path) -> None:
    """A stranger publishes what `gem new` makes of the guide's choices, with the files that the guide gives."""
    projects, files = [], written(guide)
    for arguments in started(guide):
        project = tmp_path / arguments[0]
        for path in files.keys() & set(arguments):
            (tmp_path / path).write_text(files[path], encoding="utf-8")
        command = [sys.executable, "-m", "gem", "new", *arguments, "--into", str(project)]
        subprocess.run(command, check=True, cwd=tmp_path)
        for path, text in files.items():
            target = project / path.removeprefix(f"{arguments[0]}/")
            if path.startswith("src/") or target.parent.is_dir():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")
        projects.append(project)
    wheels = build(projects, tmp_path / "wheels")
    assert refusals(wheels, tmp_path / "hub", "a-stranger") == []
    for wheel in wheels:
        assert zipfile.ZipFile(wheel).testzip() is None


def _account(folder: Path) -> str:
    return folder.owner()
