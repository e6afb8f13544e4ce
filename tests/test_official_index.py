"""The official index and its snapshot inside gem-hub-client: derived from the repository, committed nowhere."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from uv import find_uv_bin

import gem
from gem.entry_points import folder_digest
from gem_hub.events import Conformance

ROOT = Path(__file__).parents[1]
CLIENT = "packages/gem-hub-client"
SNAPSHOT = f"{CLIENT}/src/gem_hub_client/official_index"
README = "packages/gem-envs-games/README.md"
MANIFEST = "packages/gem-envs-games/src/gem_envs_games/environments.toml"
SOURCES = (CLIENT + "/src", "packages/gem-core/src", "hub/src")

# Builds and fresh checkouts cost seconds; one worker makes those that several tests look at.
pytestmark = [
    pytest.mark.slow(reason="checkouts that are committed, searched and built in environments of their own"),
    pytest.mark.xdist_group("official index"),
]


def left_out(folder: str, names: list[str]) -> set[str]:
    """Return what no index is derived from: tests, tasks and data; a folder "data" with code in it is a package."""
    found = {"__pycache__", "tests", "tasks", "official_index", "conformance"}
    if "data" in names and not Path(folder, "data", "__init__.py").exists():
        found.add("data")
    return found & {*names}


class Checkout:
    """A copy of this repository, as far as the index is derived from it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def of_this_repository(cls, folder: Path) -> Checkout:
        """Make one in a new folder."""
        made = cls(folder)
        for part in ("packages", "hub"):
            shutil.copytree(ROOT / part, folder / part, ignore=left_out)
        shutil.copy(ROOT / ".gitignore", folder)
        made.git("init", "--quiet")
        made.git("add", ".")
        made.git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "as it is")
        return made

    def replace(self, path: str, before: str, after: str) -> None:
        """Edit a file in one place."""
        text = (self.folder / path).read_text(encoding="utf-8")
        assert before in text
        (self.folder / path).write_text(text.replace(before, after, 1), encoding="utf-8")

    def changed(self) -> list[str]:
        """Return the paths that git would show a reviewer."""
        return [line[3:] for line in self.git("status", "--porcelain").splitlines()]

    def derived(self, name: str, *options: str) -> dict[str, bytes]:
        """Derive the snapshot into a folder of this name; return it by path."""
        run(sys.executable, self.folder / "hub" / "official_index.py", self.folder.parent / name, *options)
        return contents(self.folder.parent / name)

    def search(self, word: str) -> list[str]:
        """Return the ids that 'gem hub search' in this checkout finds."""
        code = "import sys; sys.argv[0] = 'gem'; from gem.cli.main import run; run()"
        home = str(self.folder.parent / "home")
        paths = os.pathsep.join(str(self.folder / source) for source in SOURCES)
        own = {"PYTHONPATH": paths, "XDG_CACHE_HOME": home, "XDG_CONFIG_HOME": home, "GEM_HUB": ""}
        command = [sys.executable, "-c", code, "hub", "search", word, "--json"]
        done = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True, check=False)
        assert not done.stderr
        found = json.loads(done.stdout)["packages"]
        return [environment["id"] for package in found for environment in package["environments"]]

    def git(self, *arguments: str) -> str:
        return run("git", *arguments, cwd=self.folder)


def run(*command: str | Path, **options: Any) -> str:
    """Run a command, which must succeed; return its stdout."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def contents(folder: Path) -> dict[str, bytes]:
    """Return path → content of what a derived snapshot ships."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {path: file.read_bytes() for path, file in sorted(files.items()) if path != "inputs.json"}


def snapshot_in(wheel: Path) -> dict[str, bytes]:
    """Return path → content of the snapshot in a wheel."""
    inside = "gem_hub_client/official_index/"
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(inside)]
        return {name.removeprefix(inside): archive.read(name) for name in sorted(names)}


def page(files: dict[str, bytes], name: str) -> dict[str, Any]:
    """Return what a snapshot says about a package."""
    found: dict[str, Any] = json.loads(files[f"envs/{name}.json"])
    return found


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory, with_git: None) -> Checkout:
    """A copy of the repository that no test changes."""
    return Checkout.of_this_repository(tmp_path_factory.mktemp("untouched") / "checkout")


@pytest.fixture(scope="module")
def snapshot(untouched: Checkout) -> dict[str, bytes]:
    """What is derived from that."""
    return untouched.derived("snapshot")


@pytest.fixture
def checkout(untouched: Checkout, tmp_path: Path) -> Checkout:
    """A fresh copy of the repository."""
    shutil.copytree(untouched.folder, tmp_path / "checkout")
    return Checkout(tmp_path / "checkout")


def test_every_package_is_in_the_snapshot(snapshot: dict[str, bytes]) -> None:
    """The snapshot lists each package, promises no file, and names the folder that pip can install."""
    files = snapshot
    folders = {*(path.parent.name for path in ROOT.glob("packages/*/pyproject.toml")), "gem-hub"}
    assert {path for path in files if path.startswith("envs/")} == {f"envs/{name}.json" for name in folders}
    for name in folders:
        (release,) = page(files, name)["releases"]
        assert (release["mode"], release["url"], release["sha256"]) == ("source", "", "")
        assert (ROOT / release["source"] / "pyproject.toml").is_file()
    (catalogue,) = (gzip.decompress(files[path]) for path in files if path.startswith("catalog/"))
    assert [json.loads(line)["name"] for line in catalogue.splitlines()] == sorted(folders)


def test_the_same_files_give_the_same_bytes(untouched: Checkout, snapshot: dict[str, bytes], tmp_path: Path) -> None:
    """Neither the time, the place of the checkout nor the times of its files leave a trace in the snapshot."""
    elsewhere = tmp_path / "a folder with spaces" / "checkout"
    shutil.copytree(untouched.folder, elsewhere, copy_function=shutil.copy)  # with other times
    run(sys.executable, elsewhere / "hub" / "official_index.py", tmp_path / "second")
    assert contents(tmp_path / "second") == snapshot


@pytest.mark.nightly
def test_an_edit_of_a_readme_or_a_manifest_touches_no_other_file(checkout: Checkout, tmp_path: Path) -> None:
    """After one new word and one new variant git shows two files, and the wheel has both, built in either way."""
    checkout.replace(README, "Thirteen text games", "Thirteen marvellous text games")
    checkout.replace(MANIFEST, "[environment.variants]\n", "[environment.variants]\nbrandnew = { max_turns = 3 }\n")
    client = checkout.folder / CLIENT
    uv = find_uv_bin()
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "direct", cwd=client)
    run(uv, "build", "--quiet", "--out-dir", tmp_path / "by-sdist", client)  # the sdist, and a wheel from that
    assert sorted(checkout.changed()) == sorted([README, MANIFEST])
    (direct,), (by_sdist,) = ((tmp_path / way).glob("*.whl") for way in ("direct", "by-sdist"))
    files = snapshot_in(direct)
    (release,) = page(files, "gem-envs-games")["releases"]
    assert "Thirteen marvellous text games" in release["description"]
    assert [entry["id"] for entry in release["environments"] if entry["id"].endswith("-brandnew")]
    assert snapshot_in(by_sdist) == files == checkout.derived("again")


@pytest.mark.nightly
def test_a_checkout_is_searched_as_it_is_now(checkout: Checkout) -> None:
    """In a checkout the client derives the snapshot once, and again after each change of its sources."""
    assert checkout.search("zugzwang") == []
    derived = checkout.folder / SNAPSHOT / "inputs.json"
    before = derived.stat().st_mtime_ns
    assert "game:Sudoku-v0" in checkout.search("sudoku")
    assert derived.stat().st_mtime_ns == before
    checkout.replace(MANIFEST, 'description = "', 'description = "Zugzwang! ')
    assert checkout.search("zugzwang")
    shutil.rmtree(checkout.folder / "packages" / "gem-envs-games")
    assert checkout.search("zugzwang") == []
    assert not [path for path in checkout.changed() if "gem-envs-games" not in path]


def test_a_record_takes_the_place_of_what_the_sources_say(checkout: Checkout, snapshot: dict[str, bytes]) -> None:
    """Once a release of a package is recorded, the snapshot shows the release, and its number comes first."""
    (release,) = page(snapshot, "gem-envs-qa")["releases"]
    unreleased = {key: release[key] for key in ("version", "published", "publisher", "environments")}
    filename = "gem_envs_qa-0.1.0-py3-none-any.whl"
    file = {"filename": filename, "url": f"https://files.example/{filename}", "sha256": "ab" * 32, "size": 1000}
    metadata = {"metadata_version": "2.4", "name": "gem-envs-qa", "version": "0.1.0"}
    record = {**unreleased, **file, "name": "gem-envs-qa", "serial": 1, "mode": "link", "metadata": metadata}
    path = checkout.folder / "hub/index/releases/gem-envs-qa/0.1.0.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({**record, "metadata_sha256": "cd" * 32}), encoding="utf-8")
    assert checkout.changed() == ["hub/index/releases/gem-envs-qa/"]
    files = checkout.derived("after")
    assert page(files, "gem-envs-qa")["serial"] == 1
    assert page(files, "gem-envs-qa")["releases"][0]["sha256"] == "ab" * 32
    assert sorted(page(files, path[5:-5])["serial"] for path in files if path.startswith("envs/"))[:2] == [1, 2]


@pytest.mark.nightly
def test_a_conformance_record_counts_for_the_sources_that_it_names(checkout: Checkout) -> None:
    """The snapshot shows the record and the pages its scores, until a source changes; git ignores the record."""
    package = checkout.folder / "packages/gem-envs-qa/src/gem_envs_qa"
    score = {"episodes": 4, "mean": 0.125, "standard_error": 0.0, "success_rate": 0.25, "mean_turns": 1.0, "error": ""}
    (spec,) = (spec for spec in gem.all_specs("qa") if spec.id == "qa:Atlas-v0")
    clause = {"clause": "contract.reset", "outcome": "holds", "message": "", "advice": "", "exempt": False}
    results = {"clauses": [clause], "scores": {"random": score}, "speed": None, "errors": []}
    environment = {"id": spec.id, "spec": spec.to_dict(), **results}
    checked = {
        "distribution": "gem-envs-qa", "version": gem.__version__, "import_name": "gem_envs_qa", "namespaces": ["qa"],
        "source_digest": folder_digest(package), "complete": True, "problem": "", "environments": [environment],
    }  # fmt: skip
    versions = {"kit": 1, "gem_core": "0.1.0", "python": "3.11.0", "implementation": "CPython", "platform": "Linux x"}
    event = Conformance(
        name="gem-envs-qa",
        version=gem.__version__,
        by="gem",
        record={"schema": 1, **versions, "packages": [checked]},
        examples={spec.id: "A question?"},
    )
    records = checkout.folder / "hub" / "conformance"
    records.mkdir(exist_ok=True)
    (records / "gem-envs-qa.json").write_text(event.model_dump_json())
    assert checkout.changed() == []
    files = checkout.derived("checked", "--pages")
    (release,) = page(files, "gem-envs-qa")["releases"]
    assert release["conformance"] == [event.record]
    shown = files["p/gem-envs-qa/index.html"].decode()
    assert "0.125" in shown
    assert "25 % solved" in shown
    assert "A question?" in shown
    (package / "atlas" / "new.py").write_text("# changes the digest")
    (release,) = page(checkout.derived("changed"), "gem-envs-qa")["releases"]
    assert release["conformance"] == []


def test_only_the_truth_of_the_official_index_can_be_committed(checkout: Checkout) -> None:
    """Git ignores every file that 'gem hub rebuild' derives in hub/index."""
    index = checkout.folder / "hub" / "index"
    (index / "releases").mkdir(exist_ok=True)
    run(sys.executable, "-c", "from gem.cli.main import run; run()", "hub", "rebuild", "--hub", index)
    assert (index / "root.json").is_file()
    assert checkout.changed() == []
