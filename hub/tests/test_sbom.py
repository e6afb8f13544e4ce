"""Bills of materials of releases and lock files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from client_machine import served
from site_pages import documents, parsed
from toy_hub import make_wheel, publish_wheel, read_wheel, synthetic_release

from gem_hub.site.build import pages
from gem_hub.store import Store
from gem_hub_client.cli.group import hub_command

pytestmark = pytest.mark.usefixtures("own_folders")

METADATA = (
    "Requires-Dist: numpy>=1.26",
    "Requires-Dist: Foo_Bar ; python_version < '3.13'",
    "Requires-Dist: foo.bar<9 ; python_version >= '3.13'",
    "Requires-Dist: toy-base",
    "Requires-Dist: pytest ; extra == 'test'",
    "Project-URL: Home, https://toys.example/a?b=c",
    "Project-URL: Odd, javascript:alert(1)",
    "Author: Ada",
)


@pytest.fixture
def hub(store: Store, tmp_path: Path) -> Store:
    """A hub with toy-envs 0.1.0 under a choice of licences, 0.2.0 under a licence of its own, and toy-base."""
    publish_wheel(store, make_wheel(tmp_path / "dist", "toy-base", ids=("base:Thing-v0",)))
    for version, licence in (("0.1.0", "MIT OR Apache-2.0"), ("0.2.0", "Toy licence, see LICENSE")):
        field = "License-Expression" if version == "0.1.0" else "License"
        wheel = make_wheel(tmp_path / "dist", version=version, metadata=(*METADATA, f"{field}: {licence}"))
        publish_wheel(store, wheel)
    return store


def bill(*arguments: str, hub: str | Path) -> dict[str, Any]:
    """Return the bill that the command writes."""
    done = CliRunner().invoke(hub_command, ["sbom", *arguments, "--hub", str(hub)])
    assert done.exit_code == 0, done.output
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.nightly(reason="a client and a server; the lock file's bill is tested below")
def test_the_bill_of_a_release(hub: Store, tmp_path: Path) -> None:
    """It has the file's digest and licence, and what is required without an extra, each name once, without versions."""
    with served(hub.folder) as url:
        document = bill("toy-envs==0.1.0", hub=url)
        assert bill("Toy.Envs==0.1", hub=url) == document, "the same release has the same bill"
    root = document["metadata"]["component"]
    release, _ = read_wheel(tmp_path / "dist" / "toy_envs-0.1.0-py3-none-any.whl")
    assert root["hashes"] == [{"alg": "SHA-256", "content": release.sha256}]
    assert [licence["expression"] for licence in root["licenses"]] == ["MIT OR Apache-2.0"]
    assert [author["name"] for author in root["authors"]] == ["Ada"]
    assert root["purl"].startswith("pkg:pypi/toy-envs@0.1.0?repository_url=")
    assert document["metadata"]["timestamp"] == "2026-01-31T12:00:00+00:00"
    parts = {part["name"]: part for part in document["components"]}
    assert set(parts) == {"numpy", "foo-bar", "toy-base"}
    assert all("version" not in part for part in parts.values())
    assert len(parts["foo-bar"]["properties"]) == 2
    assert "repository_url" in parts["toy-base"]["purl"]
    assert parts["numpy"]["purl"] == "pkg:pypi/numpy"
    assert "javascript" not in json.dumps(document)
    (edges,) = (one["dependsOn"] for one in document["dependencies"] if one["ref"] == root["bom-ref"])
    assert sorted(edges) == sorted(part["bom-ref"] for part in parts.values())


@pytest.mark.nightly(reason="loading the schema takes seconds")
def test_bills_follow_the_published_schema(hub: Store, tmp_path: Path) -> None:
    """Each kind of bill is valid by the strict schema of CycloneDX 1.6, also where its texts are odd."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    lock = tmp_path / "pylock.toml"
    lock.write_text('lock-version = "1.0"\n[[packages]]\nname = "toy-envs"\nversion = "§"\n')
    odd = ("License: <b>\u202e", 'Project-URL: "x", https://x/\u00e9', "Author: \u0007", "Summary: ]]>")
    publish_wheel(hub, make_wheel(tmp_path / "dist", "toy-odd", ids=("odd:Thing-v0",), metadata=odd))
    for arguments in (["toy-envs==0.1.0"], ["toy-envs"], ["toy-base"], ["toy-odd"], ["--lock", str(lock)]):
        document = bill(*arguments, hub=hub.folder)
        assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(document)) is None


@pytest.mark.nightly(reason="two more bills")
def test_a_licence_of_ones_own_is_a_name(hub: Store) -> None:
    """What is no SPDX expression is written as the name of a licence; no licence is no entry."""
    (licence,) = bill("toy-envs", hub=hub.folder)["metadata"]["component"]["licenses"]
    assert licence["license"]["name"] == "Toy licence, see LICENSE"
    assert "licenses" not in bill("toy-base", hub=hub.folder)["metadata"]["component"]


def test_the_bill_of_a_lock_file(hub: Store, tmp_path: Path) -> None:
    """It has each package once with its digest; the hub's licence is that of the hub's file and of no other."""
    release, _ = read_wheel(tmp_path / "dist" / "toy_envs-0.1.0-py3-none-any.whl")
    lock = tmp_path / "pylock.toml"

    def written(sha256: str) -> dict[str, dict[str, Any]]:
        lock.write_text(
            'lock-version = "1.0"\n[[packages]]\nname = "toy-envs"\nversion = "0.1.0"\n'
            f'wheels = [{{url = "https://x/y.whl", hashes = {{sha256 = "{sha256}"}}}}]\n'
            '[[packages]]\nname = "numpy"\nversion = "2.0"\nwheels = [\n'
            f'{{url = "https://x/a.whl", hashes = {{sha256 = "{"1" * 64}"}}}},\n'
            f'{{url = "https://x/b.whl", hashes = {{sha256 = "{"2" * 64}"}}}}]\n'
        )
        document = bill("--lock", str(lock), hub=hub.folder)
        assert document["metadata"]["component"]["name"] == "pylock.toml"
        return {part["name"]: part for part in document["components"]}

    parts = written(release.sha256)
    assert parts["toy-envs"]["licenses"]
    assert parts["toy-envs"]["hashes"] == [{"alg": "SHA-256", "content": release.sha256}]
    assert parts["numpy"]["purl"] == "pkg:pypi/numpy@2.0"
    assert "hashes" not in parts["numpy"]
    assert {one["value"] for one in parts["numpy"]["properties"]} == {"1" * 64, "2" * 64}
    assert "licenses" not in written("3" * 64)["toy-envs"]


def test_faults_are_told(hub: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No name, an unknown version, and a missing library each have a sentence of their own."""
    run = CliRunner().invoke
    assert run(hub_command, ["sbom"]).exit_code == 2
    unknown = run(hub_command, ["sbom", "toy-envs==7", "--hub", str(hub.folder)])
    assert (unknown.exit_code, "there are 0.2.0, 0.1.0" in unknown.output) == (1, True)
    monkeypatch.setitem(sys.modules, "cyclonedx", None)
    monkeypatch.setitem(sys.modules, "cyclonedx.model", None)
    missing = run(hub_command, ["sbom", "toy-envs", "--hub", str(hub.folder)])
    assert (missing.exit_code, "gem-hub-client[sbom]" in missing.output) == (1, True)


def test_each_release_has_its_licence_on_the_page() -> None:
    """The table of versions has the licence of each release, not that of the newest one."""
    releases = []
    for version, licence in (("1", "MIT"), ("2", "GPL-3.0-only"), ("3", "")):
        release, _ = synthetic_release("toy-envs", version)
        metadata = release.metadata.model_copy(update={"licence": licence})
        releases.append(release.model_copy(update={"metadata": metadata}))
    page = parsed(pages(documents(releases))["p/toy-envs/index.html"])
    (table,) = (one for one in page.all("table") if "Published" in one.text)
    rows = [row.text for row in table.one("tbody").all("tr")]
    assert [next(one for one in ("MIT", "GPL-3.0-only", "not said") if one in row) for row in rows] == [
        "not said",
        "GPL-3.0-only",
        "MIT",
    ]
