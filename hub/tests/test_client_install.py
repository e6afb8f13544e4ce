"""``gem hub install`` with real hubs and real installers."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from client_machine import Machine, served
from toy_hub import make_wheel, publish_wheel, synthetic_release

from gem_hub.events import Deprecate, Quarantine, Yank
from gem_hub.package import WheelPackage
from gem_hub.snapshot import snapshot_files
from gem_hub.store import Store

pytestmark = [
    pytest.mark.slow(reason="real installers in environments of their own"),
    pytest.mark.skipif(find_spec("pip") is None, reason="needs pip; run: python -m ensurepip"),
]

MakeWheel = Callable[..., Path]
CORE = "Requires-Dist: gem-core<0.2,>=0.1"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """An empty environment."""
    return Machine(tmp_path / "machine")


@pytest.fixture
def quick_machine(tmp_path: Path) -> Machine:
    """An empty environment for tests in which the installer has no say: with uv, where that is here."""
    return Machine(tmp_path / "machine", without_pip=shutil.which("uv") is not None)


def publish_toys(store: Store, wheel: MakeWheel, *metadata: str) -> Path:
    """Publish toy-envs 0.1.0 and 0.2.0, which needs toy-base."""
    publish_wheel(store, wheel("toy-base", ids=("base:Thing-v0",), metadata=metadata))
    publish_wheel(store, wheel(metadata=metadata))
    publish_wheel(store, wheel(version="0.2.0", metadata=(*metadata, "Requires-Dist: toy-base>=0.1")))
    return store.folder


@pytest.fixture
def hub(store: Store, wheel: MakeWheel) -> Path:
    """A hub with the toys, which need gem-core."""
    return publish_toys(store, wheel, CORE)


@pytest.fixture
def quick_hub(store: Store, wheel: MakeWheel) -> Path:
    """A hub with toys that need nothing else: uv does not see what the tests' own environment has."""
    return publish_toys(store, wheel)


def digest(store: Store, name: str, version: str) -> str:
    package = store.package(name)
    assert package is not None
    return next(record.sha256 for record in package.records if record.version == version)


def test_a_folder_hub_installs_exactly_its_files(machine: Machine, hub: Path, store: Store) -> None:
    """The newest release and the hub package that it needs are installed from the hub's files, and then found."""
    said = machine.gem("hub", "install", "toy-envs", hubs=(hub,))
    assert "Try: gem play toy:Thing-v0" in said
    assert machine.installed() == {
        "toy-envs": {"version": "0.2.0", "sha256": digest(store, "toy-envs", "0.2.0")},
        "toy-base": {"version": "0.1.0", "sha256": digest(store, "toy-base", "0.1.0")},
    }
    listed = {item["id"] for item in json.loads(machine.gem("list", "--json"))}
    assert {"toy:Thing-v0", "toy:Thing-v0-easy", "base:Thing-v0"} <= listed


def test_a_web_server_installs_exactly_its_files(machine: Machine, hub: Path, store: Store) -> None:
    """The same over HTTP, from a server that knows nothing of hubs; again there is nothing left to do."""
    with served(hub) as url:
        report = json.loads(machine.gem("hub", "install", "toy_Envs", "--json", hubs=(url,)))
        assert [(item["name"], item["action"]) for item in report["packages"]] == [
            ("toy-envs", "install"),
            ("toy-base", "install"),
        ]
        assert report["packages"][1]["wanted_by"] == ["toy-envs 0.2.0"]
        assert report["missing"] == []
        again = json.loads(machine.gem("hub", "install", "toy-envs", "--json", hubs=(url,)))
    assert {item["action"] for item in again["packages"]} == {"keep"}
    assert again["installer"] is None
    assert machine.installed()["toy-envs"]["sha256"] == digest(store, "toy-envs", "0.2.0")


def test_uv_installs_where_there_is_no_pip(machine: Machine, store: Store, wheel: MakeWheel) -> None:
    """Without pip, uv is told the same files, and refuses one whose digest is another."""
    if shutil.which("uv") is None:
        pytest.skip("needs uv on the PATH; run: pip install uv")
    publish_wheel(store, wheel("toy-base", ids=("base:Thing-v0",), metadata=()))
    publish_wheel(store, wheel(metadata=("Requires-Dist: toy-base",)))
    with served(store.folder) as url:
        report = json.loads(machine.gem("hub", "install", "toy-envs", "--json", "--without-pip", hubs=(url,)))
        assert report["installer"] == "uv"
        assert {name: found["version"] for name, found in machine.installed().items()} == {
            "toy-envs": "0.1.0",
            "toy-base": "0.1.0",
        }
        # uv writes no digest down, but the address, which holds it.
        again = json.loads(machine.gem("hub", "install", "toy-envs", "--json", "--without-pip", hubs=(url,)))
        assert {item["action"] for item in again["packages"]} == {"keep"}
        publish_wheel(store, wheel(version="0.2.0", metadata=()))
        tamper(store, "toy-envs", "0.2.0")
        said = machine.refused("hub", "install", "toy-envs==0.2.0", "--without-pip", "--hub", url)
    assert "is not the wheel of toy-envs 0.2.0" in said
    assert machine.installed()["toy-envs"]["version"] == "0.1.0"


def tamper(store: Store, name: str, version: str) -> None:
    """Put another wheel, which is a sound one, in the place of a published one."""
    package = store.package(name)
    assert package is not None
    record = next(record for record in package.records if record.version == version)
    target = store.folder / "files" / record.sha256[:2] / record.sha256 / record.filename
    other = make_wheel(store.folder.parent / "other", name, version, readme="Another readme.")
    shutil.copy(other, target)


def test_a_changed_file_is_refused(machine: Machine, hub: Path, store: Store) -> None:
    """A wheel that is not the one that was published is never installed, nor is anything else."""
    tamper(store, "toy-envs", "0.2.0")
    said = machine.refused("hub", "install", "toy-envs", hubs=(hub,))
    assert "is not the wheel of toy-envs 0.2.0" in said
    assert machine.installed() == {}


def test_a_dependency_of_the_hub_is_never_taken_from_an_index(quick_machine: Machine, quick_hub: Path) -> None:
    """A higher version of a hub package on the installer's own index does not come in its place."""
    make_wheel(quick_machine.index, "toy-base", "99.0", ids=("base:Thing-v0",), metadata=())
    quick_machine.gem("hub", "install", "toy-envs", hubs=(quick_hub,))
    assert quick_machine.installed()["toy-base"]["version"] == "0.1.0"


def test_what_no_hub_has_comes_from_the_installers_own_index(
    quick_machine: Machine, store: Store, wheel: MakeWheel
) -> None:
    """Other dependencies are named beforehand, and found where the installer always looks."""
    make_wheel(quick_machine.index, "elsewhere", "3.0", ids=("elsewhere:Thing-v0",), metadata=())
    marked = "Requires-Dist: never-there; python_version < '3'"
    publish_wheel(store, wheel(metadata=("Requires-Dist: elsewhere>=2; python_version > '3'", marked)))
    report = json.loads(quick_machine.gem("hub", "install", "toy-envs", "--json", hubs=(store.folder,)))
    assert report["others"] == ["elsewhere>=2"]
    assert quick_machine.installed()["elsewhere"]["version"] == "3.0"


def test_a_dry_run_changes_nothing(quick_machine: Machine, quick_hub: Path) -> None:
    """--dry-run says what would be installed, and installs nothing."""
    said = quick_machine.gem("hub", "install", "toy-envs", "--dry-run", hubs=(quick_hub,))
    assert "toy-base" in said
    assert "Nothing was changed" in said
    assert quick_machine.installed() == {}


@pytest.mark.nightly
def test_another_file_of_the_same_version_is_replaced(machine: Machine, hub: Path, store: Store) -> None:
    """What is installed from elsewhere in the same version is installed again from the hub's file."""
    other = make_wheel(machine.index, "toy-envs", "0.1.0", readme="Built by somebody else.")
    machine.pip("install", "--no-deps", other)
    assert machine.installed()["toy-envs"]["sha256"] == hashlib.sha256(other.read_bytes()).hexdigest()
    said = machine.gem("hub", "install", "toy-envs==0.1.0", hubs=(hub,))
    assert "another file" in said
    assert machine.installed()["toy-envs"]["sha256"] == digest(store, "toy-envs", "0.1.0")


@pytest.mark.nightly
def test_an_installed_dependency_that_fits_stays(
    quick_machine: Machine, quick_hub: Path, store: Store, wheel: MakeWheel
) -> None:
    """A newer release of a hub package that was not asked for is not put in the place of one that is good enough."""
    quick_machine.gem("hub", "install", "toy-base", hubs=(quick_hub,))
    publish_wheel(store, wheel("toy-base", "0.2.0", ids=("base:Thing-v0",), metadata=()))
    quick_machine.gem("hub", "install", "toy-envs", hubs=(quick_hub,))
    assert quick_machine.installed()["toy-base"]["version"] == "0.1.0"
    quick_machine.gem("hub", "install", "toy-base", hubs=(quick_hub,))
    assert quick_machine.installed()["toy-base"]["version"] == "0.2.0"


def test_a_yanked_release_is_given_only_for_its_exact_version(
    quick_machine: Machine, quick_hub: Path, store: Store
) -> None:
    """The newest is skipped when it is yanked; with == it is installed, and the reason shown."""
    store.add_event(Yank(name="toy-envs", by="someone", version="0.2.0", reason="loses rewards"))
    quick_machine.gem("hub", "install", "toy-envs", hubs=(quick_hub,))
    assert quick_machine.installed()["toy-envs"]["version"] == "0.1.0"
    done = quick_machine.run("hub", "install", "toy-envs==0.2.0", hubs=(quick_hub,))
    assert done.returncode == 0
    assert "was yanked: loses rewards" in done.stderr
    assert quick_machine.installed()["toy-envs"]["version"] == "0.2.0"
    store.add_event(Yank(name="toy-envs", by="someone", version="0.1.0", reason="loses rewards too"))
    assert "every release of toy-envs" in quick_machine.refused("hub", "install", "toy-envs", hubs=(quick_hub,))
    quick_machine.gem("hub", "install", "toy-envs==0.1.0", hubs=(quick_hub,))
    assert quick_machine.installed()["toy-envs"]["version"] == "0.1.0"


def test_a_quarantined_package_is_refused(quick_machine: Machine, quick_hub: Path, store: Store) -> None:
    """Neither by name, nor by exact version, nor as something that another package needs."""
    store.add_event(Quarantine(name="toy-base", by="someone", reason="steals keys"))
    for wanted in ("toy-base", "toy-base==0.1.0", "toy-envs"):
        said = quick_machine.refused("hub", "install", wanted, hubs=(quick_hub,))
        assert "toy-base is quarantined" in said
        assert "steals keys" in said
    assert quick_machine.installed() == {}


def test_a_deprecated_package_is_installed_with_a_word(quick_machine: Machine, quick_hub: Path, store: Store) -> None:
    """Deprecation is shown with its reason, and hinders nothing."""
    store.add_event(Deprecate(name="toy-base", by="someone", reason="use other-base"))
    done = quick_machine.run("hub", "install", "toy-base", hubs=(quick_hub,))
    assert done.returncode == 0
    assert "toy-base is deprecated: use other-base" in done.stderr


def test_an_unreleased_package_says_how_to_get_it(machine: Machine, tmp_path: Path) -> None:
    """A package that has no file yet is refused with the commands that install it."""
    release, _ = synthetic_release("toy-envs", "0.1.0", ("toy:Thing-v0",), mode="source")
    for path, content in snapshot_files([WheelPackage.of("toy-envs", [release], [])]).items():
        (tmp_path / "hub" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "hub" / path).write_bytes(content)
    said = machine.refused("hub", "install", "toy-envs", hubs=(tmp_path / "hub",))
    assert "pip install ./packages/toy-envs" in said
    assert 'pip install "toy-envs==0.1.0"' in said


def test_an_unknown_name_brings_the_nearest(machine: Machine, hub: Path) -> None:
    """A mistyped name is refused with the one that was meant; a hopeless one with the search command."""
    assert "did you mean 'toy-envs'?" in machine.refused("hub", "install", "toy-env", hubs=(hub,))
    assert "gem hub search" in machine.refused("hub", "install", "quite-another-thing", hubs=(hub,))
    said = machine.refused("hub", "install", "toy-envs==0.2.1", hubs=(hub,))
    assert "there is 0.2.0, 0.1.0" in said or "did you mean toy-envs==0.2.0?" in said


def test_an_unreachable_hub_is_not_skipped(machine: Machine, hub: Path) -> None:
    """Where the first hub cannot be asked, the next one's package of that name is not taken in its place."""
    with served(hub) as url:
        pass
    said = machine.refused("hub", "install", "toy-envs", hubs=(url, hub))
    assert "cannot be reached" in said
    assert machine.installed() == {}
