"""Releases: the version and its ranges move together, and what the first release wrote is still read."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import gem
from gem.discovery.manifest import read_specs
from gem.trajectory import read_trajectories

ROOT = Path(__file__).parents[1]
FIRST = Path(__file__).with_name("first_release")


@pytest.fixture(autouse=True)
def _import_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The script's parts lie beside it."""
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.fixture
def workspace(tmp_path: Path, with_git: None) -> Path:
    """Two packages, one of which requires the other, in a git repository."""
    root = tmp_path / "a workspace"
    for name, needs in (("gem-core", ""), ("gem-envs-toys", '"gem-core[datasets]>=0.1,<0.2", "numpy>=0.1,<0.2"')):
        package = root / "packages" / name
        (package / "src").mkdir(parents=True)
        (package / "src" / "version.py").write_text('"""A package."""\n\n__version__ = "0.1.0"\n', encoding="utf-8")
        (package / "pyproject.toml").write_text(
            f'name = "{name}"\ndependencies = [{needs}]\n[tool.hatch.version]\npath = "src/version.py"\n',
            encoding="utf-8",
        )
    (root / "guide.md").write_text("`gem-core>=0.1,<0.2`, and not gem-core>=0.1,<0.20\n", encoding="utf-8")
    (root / "CHANGELOG.md").write_text("Needs gem-core>=0.1,<0.2.\n", encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", root], check=True)
    subprocess.run(["git", "add", "--all"], cwd=root, check=True)
    return root


def test_a_version_moves_everywhere_at_once(workspace: Path) -> None:
    """All packages have it, and the ranges in which they and the documents name each other follow; history stays."""
    from devtools.versions import current_version, set_version

    set_version("0.2.0", workspace)
    assert current_version(workspace) == "0.2.0"
    toys = (workspace / "packages/gem-envs-toys/pyproject.toml").read_text(encoding="utf-8")
    assert '"gem-core[datasets]>=0.2,<0.3", "numpy>=0.1,<0.2"' in toys
    guide = (workspace / "guide.md").read_text(encoding="utf-8")
    assert guide == "`gem-core>=0.2,<0.3`, and not gem-core>=0.1,<0.20\n"
    assert (workspace / "CHANGELOG.md").read_text(encoding="utf-8") == "Needs gem-core>=0.1,<0.2.\n"


@pytest.mark.parametrize(
    ("version", "pin"),
    [("0.2.0", ">=0.2,<0.3"), ("0.2.7", ">=0.2,<0.3"), ("1.0.0", ">=1.0,<1.1"), ("0.3.0rc2", ">=0.3.0rc2,<0.4")],
)
def test_a_range_admits_the_patches_of_a_minor_version(version: str, pin: str) -> None:
    """A candidate is admitted by name, because a range admits candidates only where it names one."""
    from devtools import versions

    assert versions.pin(version) == pin


@pytest.mark.parametrize("version", ["0.1.0", "0.0.9", "0.1.0rc1", "2", "0.2.0.dev1", "v0.2.0", "0.2.0\n"])
def test_what_is_no_next_version_changes_nothing(workspace: Path, version: str) -> None:
    """An older version, the same one, and what is none at all."""
    from devtools.versions import current_version, set_version

    with pytest.raises(SystemExit, match=re.escape(version.strip()[:3])):
        set_version(version, workspace)
    assert current_version(workspace) == "0.1.0"


def test_packages_of_different_versions_are_named(workspace: Path) -> None:
    """A release never goes on with them."""
    from devtools.versions import current_version

    (workspace / "packages/gem-core/src/version.py").write_text('__version__ = "0.1.1"\n', encoding="utf-8")
    with pytest.raises(SystemExit, match=r"gem-core 0\.1\.1, gem-envs-toys 0\.1\.0"):
        current_version(workspace)


def test_the_workspace_has_one_version_that_its_ranges_admit() -> None:
    """So a release installs as a whole."""
    from devtools.versions import current_version, pin
    from devtools.workspace import package_folders

    wanted = pin(current_version())
    names = "|".join(package_folders())
    for project in [*ROOT.glob("packages/*/pyproject.toml"), ROOT / "hub/pyproject.toml"]:
        text = project.read_text(encoding="utf-8")
        for name, found in re.findall(rf'"({names})(?:\[[a-z,]+\])?([<>=!~][^";]*)"', text):
            assert found == wanted, (project, name)
    assert gem.__version__ == current_version()


@pytest.mark.nightly
def test_a_release_can_be_rehearsed() -> None:
    """From a tag to an empty environment that installs from an index, and a hub that has the records."""
    done = subprocess.run(
        [sys.executable, ROOT / "dev.py", "release", "rehearse"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "game:GuessTheNumber-v0-easy         4        1.000" in done.stdout
    assert "game:Sudoku" in done.stdout
    assert "the rehearsal succeeded" in done.stderr


def test_episodes_of_the_first_release_are_read() -> None:
    """Observations, actions and rewards are all there, and their spec still makes the environment."""
    episodes = list(read_trajectories(FIRST / "episodes.jsonl"))
    assert [episode.seed for episode in episodes] == [0, 1]
    for episode in episodes:
        assert [turn.reward for turn in episode.transitions][-1] == 1.0
        assert episode.transitions[0].action == "\\boxed{5}"
        env = gem.make(episode.spec)
        env.reset(seed=episode.seed)
        for turn in episode.transitions:
            _, reward, terminated, truncated, _ = env.step(turn.action)
            assert (reward, terminated, truncated) == (turn.reward, turn.terminated, turn.truncated)


@pytest.mark.parametrize("manifest", sorted(FIRST.glob("*.toml")), ids=lambda path: path.stem)
def test_manifests_of_the_first_release_are_read_and_their_ids_are_still_there(manifest: Path) -> None:
    """An id that somebody's results name does not vanish; an older manifest says what it said."""
    old = read_specs(manifest, manifest.stem, "0.1.0")
    assert old
    for spec in old:
        assert gem.spec(spec.id).id == spec.id
