"""Packages of a hub whose files would lie over those of others: refused before anything is written."""

from __future__ import annotations

import shutil
import sysconfig
from pathlib import Path

import pytest
from toy_hub import make_wheel, publish_wheel, read_wheel

from gem_hub.store import Store
from gem_hub_client.config import hub_at
from gem_hub_client.errors import HubError
from gem_hub_client.install import Installation, plan
from gem_hub_client.installer import Installer

pytestmark = pytest.mark.usefixtures("own_folders")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of modules in front of all others, into which an installer would write."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr("gem_hub_client.file_conflicts._install_folders", lambda: {folder})
    return folder


def lay(site: Path, name: str, *files: str) -> None:
    """Lay out an installed distribution with these files."""
    info = f"{name.replace('-', '_')}-1.0.dist-info"
    for file in (*files, f"{info}/METADATA"):
        (site / file).parent.mkdir(parents=True, exist_ok=True)
        (site / file).write_text("")
    (site / info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (site / info / "RECORD").write_text("".join(f"{file},,\n" for file in (*files, f"{info}/METADATA")))


def planned(store: Store, *names: str) -> Installation:
    return plan(names, [hub_at(str(store.folder))])


def publish(store: Store, folder: Path, *arguments: object, **options: object) -> None:
    publish_wheel(store, make_wheel(folder, *arguments, **options))  # type: ignore[arg-type]


def test_a_package_called_like_anothers_import_is_refused(store: Store, tmp_path: Path, site: Path) -> None:
    """`yaml` does not take the place of PyYAML's module; the refusal names file and owner, and no installer runs."""
    lay(site, "PyYAML", "yaml/__init__.py", "yaml/loader.py")
    publish(store, tmp_path, "yaml", ids=["yaml:Thing-v0"], metadata=[])
    with pytest.raises(HubError, match=r"yaml 0\.1\.0 would take the place of .*yaml/__init__\.py, a file of pyyaml"):
        planned(store, "yaml").run(Installer("pip", ("surely-not-there",)))


def test_it_does_not_arrive_through_another_package(store: Store, tmp_path: Path, site: Path) -> None:
    """What a package needs from the hub is compared as well."""
    lay(site, "PyYAML", "toy_yaml/__init__.py")
    publish(store, tmp_path, "toy-yaml", ids=["yaml:Thing-v0"], metadata=[])
    publish(store, tmp_path, metadata=["Requires-Dist: toy-yaml"])
    with pytest.raises(HubError, match="would take the place of"):
        planned(store, "toy-envs").check()


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "requirement alone"])
def test_what_a_package_declares_from_the_hub_is_compared(
    store: Store, tmp_path: Path, site: Path, declared: bool
) -> None:
    """A requirement that ``hub_requires`` declares is loaded and compared before anything is written."""
    lay(site, "PyYAML", "toy_yaml/__init__.py")
    publish(store, tmp_path, "toy-yaml", ids=["yaml:Thing-v0"], metadata=[])
    release, metadata = read_wheel(make_wheel(tmp_path / "needing", metadata=["Requires-Dist: toy-yaml"]))
    assert release.hub_requires == ["toy-yaml"]
    wheel = next((tmp_path / "needing").glob("*.whl"))
    store.publish(release if declared else release.model_copy(update={"hub_requires": []}), wheel, metadata)
    installation = planned(store, "toy-envs")
    assert [item.release.name for item in installation.items] == ["toy-envs", "toy-yaml"][: 1 + declared]
    if declared:
        with pytest.raises(HubError, match=r"toy-yaml 0\.1\.0 would take the place of .*toy_yaml/__init__\.py"):
            installation.run(Installer("pip", ("surely-not-there",)))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("file", "text", "taken"),
    [
        ("toy_envs-0.1.0.data/scripts/plain", "#!/bin/sh", "bin/plain"),
        ("toy_envs-0.1.0.data/data/bin/plain", "#!/bin/sh", "bin/plain"),
        ("toy_envs-0.1.0.data/data/share/../bin/plain", "#!/bin/sh", "bin/plain"),
        ("toy_envs-0.1.0.data/purelib/other/plain.py", "x = 1", "other/plain.py"),
        ("toy_envs-0.1.0.dist-info/entry_points.txt", "[console_scripts]\nplain = toy_envs:main\n", "bin/plain"),
        ("toy_envs-0.1.0.dist-info/entry_points.txt", "[gui_scripts]\nplain = toy_envs:main\n", "bin/plain"),
    ],
)
def test_commands_and_data_count_as_well(
    store: Store, tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str, taken: str
) -> None:
    """A wheel of a hub with a weaker gate replaces no command and no file outside the folder of modules."""
    places = {"scripts": str(tmp_path / "bin"), "data": str(tmp_path)}
    real = sysconfig.get_path
    monkeypatch.setattr("sysconfig.get_path", lambda name: places.get(name) or real(name))
    publish(store, tmp_path, metadata=[], files={file: text})
    planned(store, "toy-envs").check()
    lay(site, "other", *(("other/plain.py",) if taken.startswith("other") else ("../bin/plain",)))
    with pytest.raises(HubError, match=f"would take the place of .*{taken}, a file of other"):
        planned(store, "toy-envs").check()


def test_every_file_counts(store: Store, tmp_path: Path, site: Path) -> None:
    """A wheel that brings one file into another package's folder is refused for that file."""
    lay(site, "other", "other/plain.py")
    publish(store, tmp_path, metadata=[], files={"other/plain.py": "x = 1"})
    with pytest.raises(HubError, match=r"other/plain\.py, a file of other"):
        planned(store, "toy-envs").check()
    (site / "other/plain.py").unlink()
    (site / "other-1.0.dist-info/METADATA").unlink()
    planned(store, "toy-envs").check()


def test_a_file_that_nobody_lists_is_not_overwritten_either(store: Store, tmp_path: Path, site: Path) -> None:
    """Files that somebody put there by hand stay; an empty folder is in nobody's way."""
    (site / "toy_envs").mkdir()
    publish(store, tmp_path, metadata=[])
    planned(store, "toy-envs").check()
    (site / "toy_envs/__init__.py").touch()
    with pytest.raises(HubError, match="that no installed package lists"):
        planned(store, "toy-envs").check()


def test_two_packages_of_a_plan_do_not_overlap(store: Store, tmp_path: Path, site: Path) -> None:
    """Neither of two new packages may bring a file of the other."""
    publish(store, tmp_path, metadata=[], files={"toy_more/__init__.py": "x = 1"})
    publish(store, tmp_path, "toy-more", ids=["more:Thing-v0"], metadata=[])
    with pytest.raises(HubError, match=r"both bring toy_more/__init__\.py"):
        planned(store, "toy-envs", "toy-more").check()


def test_another_version_of_the_same_package_is_replaced(store: Store, tmp_path: Path, site: Path) -> None:
    """An upgrade writes over its own files alone."""
    lay(site, "toy-envs", "toy_envs/__init__.py", "toy_envs/environments.toml")
    publish(store, tmp_path, version="2.0", metadata=[])
    planned(store, "toy-envs").check()


@pytest.mark.parametrize("module", ["json", "antigravity"])
def test_a_module_of_python_is_refused(store: Store, tmp_path: Path, site: Path, module: str) -> None:
    """Whatever is on the disk, no package brings what Python brings."""
    publish(store, tmp_path, metadata=[], files={f"{module}/__init__.py": "x = 1"})
    with pytest.raises(HubError, match=f"brings {module}, which is a module of Python"):
        planned(store, "toy-envs").check()


def test_what_comes_from_the_index_meanwhile_is_not_hidden(store: Store, tmp_path: Path, site: Path) -> None:
    """A dependency that is not there yet is known by its name."""
    publish(store, tmp_path, metadata=["Requires-Dist: sureley-new"], files={"sureley_new/__init__.py": "x = 1"})
    with pytest.raises(HubError, match="brings sureley_new, as sureley-new from your installer's index"):
        planned(store, "toy-envs").check()


@pytest.mark.parametrize("damage", ["another", "cut off", "gone"])
def test_a_wheel_that_is_not_the_listed_one_is_refused(store: Store, tmp_path: Path, site: Path, damage: str) -> None:
    """Its digest is compared before a byte of it is believed."""
    publish(store, tmp_path, metadata=[])
    (wheel,) = store.folder.glob("files/*/*/*.whl")
    if damage == "another":
        shutil.copy(make_wheel(tmp_path / "other", readme="Another."), wheel)
    elif damage == "cut off":
        wheel.write_bytes(wheel.read_bytes()[:-9])
    else:
        wheel.unlink()
    with pytest.raises(HubError, match=r"is not the wheel of toy-envs|no such file"):
        planned(store, "toy-envs").check()
