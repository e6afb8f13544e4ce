"""``gem hub audit`` against real hubs, of what real installers have laid out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest
from client_machine import served
from toy_hub import make_wheel, publish_wheel, read_wheel

from gem_hub.events import Deprecate, Quarantine, Yank
from gem_hub.store import Store
from gem_hub_client.audit import AuditReport, audit
from gem_hub_client.config import hub_at
from gem_hub_client.installed import announcing

MakeWheel = Callable[..., Path]


class Site:
    """A folder with distributions as pip lays them out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def lay(
        self, name: str, version: str = "0.1.0", origin: dict[str, Any] | None = None, group: str = "gem.envs"
    ) -> None:
        """Lay out a distribution that announces environments; ``origin`` is its ``direct_url.json``."""
        info = self.folder / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[{group}]\ntoy = toy_envs\n", encoding="utf-8")
        if origin is not None:
            (info / "direct_url.json").write_text(json.dumps(origin), encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """An environment in which nothing else is installed."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.setattr("importlib.metadata.distributions", partial(distributions, path=[str(folder)]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Site(folder)


@pytest.fixture
def hub(store: Store, wheel: MakeWheel) -> Path:
    """A hub with toy-envs 0.1.0 and 0.2.0."""
    publish_wheel(store, wheel())
    publish_wheel(store, wheel(version="0.2.0"))
    return store.folder


def origin_of(wheel: Path) -> dict[str, Any]:
    release, _ = read_wheel(wheel)
    return {"url": wheel.as_uri(), "archive_info": {"hashes": {"sha256": release.sha256}}}


def audited(*hubs: Path | str, offline: bool = False) -> AuditReport:
    return audit([hub_at(str(hub)) for hub in hubs], offline=offline)


def kinds(report: AuditReport) -> list[tuple[str, str]]:
    return [(package.name, finding.kind) for package in report.packages for finding in package.findings]


def test_the_hubs_own_file_is_in_order(site: Site, hub: Path, wheel: MakeWheel) -> None:
    """A package that came from the hub's file, in an older version that is not yanked, has no findings."""
    site.lay("Toy_Envs", "0.1.0", origin_of(wheel()))
    report = audited(hub)
    assert kinds(report) == []
    assert report.sound
    assert [package.name for package in report.packages] == ["toy-envs"]
    assert "as of 2026-01-31T12:00:00Z (serial 2)" in report.statuses[0]


def test_a_yank_is_found(site: Site, hub: Path, store: Store) -> None:
    """An installed version that was yanked makes the audit fail, also when all others are yanked as well."""
    site.lay("toy-envs", "0.1.0")
    store.add_event(Yank(name="toy-envs", by="someone", version="0.1.0", reason="loses rewards"))
    report = audited(hub)
    assert kinds(report) == [("toy-envs", "yanked")]
    assert "loses rewards" in report.packages[0].findings[0].message
    assert not report.sound
    store.add_event(Yank(name="toy-envs", by="someone", version="0.2.0", reason="too"))
    assert kinds(audited(hub)) == [("toy-envs", "yanked")]


def test_a_yank_of_another_version_is_no_finding(site: Site, hub: Path, store: Store) -> None:
    """Only the installed version counts."""
    site.lay("toy-envs", "0.1.0")
    store.add_event(Yank(name="toy-envs", by="someone", version="0.2.0", reason="loses rewards"))
    assert kinds(audited(hub)) == []


def test_a_quarantine_is_found(site: Site, hub: Path, store: Store) -> None:
    """A quarantined package makes the audit fail, in any version, from any hub."""
    site.lay("toy-envs", "7.0")
    store.add_event(Quarantine(name="toy-envs", by="someone", reason="steals keys"))
    report = audited(hub)
    assert ("toy-envs", "quarantined") in kinds(report)
    assert not report.sound


def test_a_quarantine_in_a_later_hub_counts(site: Site, hub: Path, tmp_path: Path, wheel: MakeWheel) -> None:
    """A package of the first hub is not sound if the second one has it in quarantine."""
    site.lay("toy-envs", "0.1.0", origin_of(wheel()))
    other = Store(tmp_path / "other")
    publish_wheel(other, wheel())
    other.add_event(Quarantine(name="toy-envs", by="someone", reason="steals keys"))
    assert kinds(audited(hub, other.folder)) == [("toy-envs", "quarantined")]


def test_deprecated_and_unknown_packages_are_only_told(site: Site, hub: Path, store: Store) -> None:
    """Both are findings, and neither makes the audit fail."""
    site.lay("toy-envs", "0.1.0")
    site.lay("strange-envs", "1.0")
    site.lay("no-envs", "1.0", group="console_scripts")
    store.add_event(Deprecate(name="toy-envs", by="someone", reason="use better-envs"))
    report = audited(hub)
    assert kinds(report) == [("strange-envs", "unknown"), ("toy-envs", "deprecated")]
    assert report.sound


def test_another_file_is_told_apart(site: Site, hub: Path, tmp_path: Path) -> None:
    """The digest that the installer wrote down shows that a file of the same version is another one."""
    site.lay("toy-envs", "0.1.0", origin_of(make_wheel(tmp_path / "other", readme="Built by somebody else.")))
    report = audited(hub)
    assert kinds(report) == [("toy-envs", "differs")]
    assert "another file" in report.packages[0].findings[0].message


def test_a_version_that_no_hub_has_is_told(site: Site, hub: Path) -> None:
    """So is a version that the hub never had, and a package that came from a folder of sources."""
    site.lay("toy-envs", "0.3.0")
    assert kinds(audited(hub)) == [("toy-envs", "differs")]


def test_an_editable_package_is_told(site: Site, hub: Path) -> None:
    """What lies in a folder of sources is no file of a hub."""
    site.lay("toy-envs", "0.1.0", {"url": "file:///home/me/toys", "dir_info": {"editable": True}})
    report = audited(hub)
    assert kinds(report) == [("toy-envs", "differs")]
    assert "folder of sources" in report.packages[0].findings[0].message


def test_an_audit_works_without_a_network(site: Site, hub: Path, store: Store, wheel: MakeWheel) -> None:
    """What was loaded before is enough to find a yank, and its age is said; a hub never seen is an error."""
    site.lay("toy-envs", "0.1.0", origin_of(wheel()))
    store.add_event(Yank(name="toy-envs", by="someone", version="0.1.0", reason="loses rewards"))
    with served(hub) as url:
        assert kinds(audited(url)) == [("toy-envs", "yanked")]
        # Asked again at once, because an audit is no search: what happened a moment ago counts.
        store.add_event(Deprecate(name="toy-envs", by="someone", reason="use better-envs"))
        # This server tells changes apart by the second alone.
        later = (hub / "root.json").stat().st_mtime + 10
        os.utime(hub / "root.json", (later, later))
        report = audited(url)
        assert kinds(report) == [("toy-envs", "yanked"), ("toy-envs", "deprecated")]
        assert "(serial 4)" in report.statuses[0]
    report = audited(url, offline=True)
    assert ("toy-envs", "yanked") in kinds(report)
    assert "loaded just now" in report.statuses[0]
    assert any("was not asked" in note for note in report.notes)
    with pytest.raises(RuntimeError, match="nothing was loaded from this hub yet"):
        audited("http://127.0.0.1:9/", offline=True)


def test_disabled_packages_are_audited_too(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The switch that hides plugins from gem hides none from an audit; broken metadata does not stop it either."""
    monkeypatch.setenv("GEM_DISABLE_PLUGINS", "1")
    site.lay("toy-envs")
    site.lay("odd-envs", origin={"url": 3, "archive_info": []})
    broken = site.folder / "broken-1.0.dist-info"
    broken.mkdir()
    (broken / "entry_points.txt").write_bytes(b"[gem.envs]\nx = \xff\xfe\n")
    assert [package.name for package in announcing()] == ["odd-envs", "toy-envs"]
