#!/usr/bin/env python3
"""Derive the snapshot of the official index from this repository.

    python hub/official_index.py DIR [--pages] [--publish] [--sign]

DIR then holds ``root.json``, one catalogue file and ``envs/``: what ``gem hub`` searches without a network. They come
from the records and events in ``hub/index`` and, for each package of the repository that has no release yet, from its
``pyproject.toml``, readme and ``environments.toml``. No package is imported, and the same files give the same bytes.
``hub/official_records.py`` makes the conformance records of unreleased packages, with their scores; a record counts as
long as the sources have the digest that it names. ``hub/official_results.py`` keeps results of agents in
``hub/results``, with the recorded episodes beside them. With ``--pages`` DIR also holds the catalogue's pages,
and with ``--publish`` the pages of installers, the records and events, and the keys: what the project's web server
serves. ``--sign`` signs it all with the online key that ``GEM_HUB_ONLINE_KEY`` names; as long as the root holds
development keys it may be missing, because everybody has that one.

The build of gem-hub-client runs this script and puts the result into the wheel. In a checkout the client runs it when
a file has changed that the last run read; ``inputs.json`` in DIR lists those files.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OURS = tuple(str(ROOT / folder) for folder in ("packages/gem-core/src", "packages/gem-hub-client/src", "hub/src"))
sys.path[:0] = OURS  # before what is installed, which may be older

from gem.discovery.manifest import FILE_NAME, read_specs  # noqa: E402
from gem.entry_points import folder_digest  # noqa: E402
from gem_hub.catalogue import EPOCH  # noqa: E402
from gem_hub.events import Conformance, Event, Result  # noqa: E402
from gem_hub.package import WheelPackage  # noqa: E402
from gem_hub.records import CoreMetadata, Release, environments_of  # noqa: E402
from gem_hub.results.state import episodes_path, results_of  # noqa: E402
from gem_hub.snapshot import published_files, snapshot_files  # noqa: E402
from gem_hub.storage import HubFolder  # noqa: E402
from gem_hub.truth import Truth  # noqa: E402
from gem_hub_client.official import INPUTS, stamp  # noqa: E402

if sys.version_info >= (3, 11):
    from tomllib import loads
else:
    from tomli import loads

INDEX = ROOT / "hub" / "index"
RECORDS = ROOT / "hub" / "conformance"
RESULTS = ROOT / "hub" / "results"
ROOTS = ROOT / "hub" / "official_roots"
OPTIONS = {"--pages", "--publish", "--sign"}
PUBLISHER = "gem"


def main(target: Path, *options: str) -> None:
    """Write the snapshot into a folder."""
    inputs = {path: stamp(path) for path in sorted(map(str, read_files()))}
    listed = packages()
    files = published_files(listed) if "--publish" in options else snapshot_files(listed)
    for package in listed:
        for one in results_of(package):
            recorded = RESULTS / package.name / f"{one.id}.jsonl.gz"
            if one.event.hosted and recorded.is_file():
                files[episodes_path(str(one.predicate["raw_sha256"]))] = recorded.read_bytes()
    if "--pages" in options:
        from gem_hub.site.build import details_of, site_files

        files |= dict(site_files(details_of(listed)))
    # Loaded modules are inputs too: another version of them may derive something else.
    code = sorted({str(module.__file__) for module in list(sys.modules.values()) if getattr(module, "__file__", None)})
    inputs |= {path: stamp(path) for path in code if path.startswith(OURS)}
    derived = ("envs/*", "results/*/*", "episodes/*/*", "catalog/*")
    superseded = {path for pattern in derived for path in target.glob(pattern)} - {target / path for path in files}
    for path, content in files.items():
        put(target / path, content)
    for old in superseded:
        old.unlink(missing_ok=True)
    if "--publish" in options or "--sign" in options:
        for kind in ("releases", "events"):
            for file in (INDEX / kind).rglob("*.json"):
                put(target / file.relative_to(INDEX), file.read_bytes())
    if "--sign" in options:
        sign(target)
    if "--publish" not in options:
        put(target / INPUTS, json.dumps(inputs, indent=1).encode())


def sign(target: Path) -> None:
    """Sign the files of a folder with the online key of the official index."""
    from gem_hub.signing.development import development_key
    from gem_hub.signing.online import ONLINE_KEY, sign_changes
    from gem_hub.signing.roots import newest_root

    for root in ROOTS.glob("*.root.json"):
        put(target / "trust" / root.name, root.read_bytes())
    newest = newest_root(HubFolder(target))
    if newest is None:
        raise ValueError(f"{ROOTS} holds no root")
    is_development = newest.signed.unrecognized_fields.get("gem", {}).get("development") is True
    stand_in = development_key("online") if is_development and not os.environ.get(ONLINE_KEY) else None
    sign_changes(HubFolder(target), renew=True, signer=stand_in)


def read_files() -> Iterator[Path]:
    """Yield the files that the snapshot says something of, and the folders in which there may be more some day."""
    yield from (Path(__file__).resolve(), ROOT / "packages", INDEX)
    for kind in ("releases", "events"):
        yield from (INDEX / kind, *(INDEX / kind).rglob("*"))
    for project in (*ROOT.glob("packages/*/pyproject.toml"), ROOT / "hub/pyproject.toml"):
        yield from (project, project.with_name("README.md"), *project.parent.glob("src/*/__init__.py"))
        yield from project.parent.glob(f"src/*/{FILE_NAME}")
    yield from (RESULTS, *RESULTS.rglob("*"), RECORDS)
    for record in RECORDS.glob("*.json"):
        # The digest of the sources decides whether the record counts.
        yield from (record, *(path for path in sources(record.stem).rglob("*") if "__pycache__" not in path.parts))


def packages() -> list[WheelPackage]:
    """Return the packages of the index, and those of this repository that have no release yet."""
    released = list(Truth(HubFolder(INDEX)).packages())
    serial = max((package.last.serial for package in released), default=0)
    names = {package.name for package in released}
    fresh = [record for record in map(unreleased, [*projects(), *libraries()]) if record.name not in names]
    described = []
    for release in fresh:
        serial += 1
        numbered = release.model_copy(update={"serial": serial})
        check = record_of(release)
        events: list[Event] = []
        if check is not None:
            serial += 1
            events.append(check.model_copy(update={"serial": serial}))
        for result in results_on(release):
            serial += 1
            events.append(result.model_copy(update={"serial": serial}))
        described.append(WheelPackage.of(release.name, [numbered], events))
    return sorted([*released, *described], key=lambda package: package.name)


def projects() -> list[Path]:
    """Return the ``pyproject.toml`` of every package of this repository that offers environments."""
    return [
        path for path in sorted(ROOT.glob("packages/*/pyproject.toml")) if any(path.parent.glob(f"src/*/{FILE_NAME}"))
    ]


def libraries() -> list[Path]:
    """Return the ``pyproject.toml`` of every other package of this repository, which people look for as well."""
    return sorted({*ROOT.glob("packages/*/pyproject.toml"), ROOT / "hub/pyproject.toml"} - {*projects()})


def sources(name: str) -> Path:
    """Return the folder of an environment package's code."""
    return next(
        (path.parent for path in (ROOT / "packages" / name).glob(f"src/*/{FILE_NAME}")), ROOT / "packages" / name
    )


def record_path(name: str) -> Path:
    """Return the path of a package's conformance record."""
    return RECORDS / f"{name}.json"


def record_of(release: Release) -> Conformance | None:
    """Return the conformance record of a package; None without one of the sources as they are and of all clauses."""
    try:
        event = Conformance.model_validate_json(record_path(release.name).read_bytes())
        record: Any = event.record
        (checked,) = record["packages"]
        is_current = (
            event.version == release.version
            and checked["complete"]
            and checked["source_digest"] == folder_digest(sources(release.name))
        )
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return event if is_current else None


def results_on(release: Release) -> list[Result]:
    """Return the results on a package, of whatever sources: each says which, and a table holds those of the same."""
    paths = sorted((RESULTS / release.name).glob("*.json"))
    found = [Result.model_validate_json(path.read_bytes()) for path in paths]
    return [result for result in found if result.version == release.version and not result.sha256]


def unreleased(project: Path) -> Release:
    """Return a record in mode ``source`` of what a project's files say."""
    document = loads(project.read_text(encoding="utf-8"))
    table: dict[str, Any] = document["project"]
    folder = project.parent
    packages = {folder / "src" / value for value in table.get("entry-points", {}).get("gem.envs", {}).values()}
    manifests = [package / FILE_NAME for package in sorted(packages) if (package / FILE_NAME).is_file()]
    code = (folder / document["tool"]["hatch"]["version"]["path"]).read_text(encoding="utf-8")
    version = re.search(r'^__version__ = "(.+)"$', code, re.MULTILINE)
    if version is None:
        raise ValueError(f"{project}: its version file holds no __version__")
    metadata = CoreMetadata(
        metadata_version="2.4",
        name=table["name"],
        version=version[1],
        summary=table["description"],
        description=(folder / table["readme"]).read_text(encoding="utf-8"),
        description_content_type="text/markdown",
        keywords=table.get("keywords", []),
        licence=table["license"],
        requires_python=table["requires-python"],
        requires_dist=table["dependencies"],
        provides_extra=sorted(table.get("optional-dependencies", {})),
        project_urls=table.get("urls", {}),
        classifiers=table.get("classifiers", []),
    )
    return Release(
        name=table["name"],
        version=version[1],
        published=EPOCH,
        publisher=PUBLISHER,
        mode="source",
        source=folder.relative_to(ROOT).as_posix(),
        metadata=metadata,
        environments=environments_of(spec for manifest in manifests for spec in read_specs(manifest)),
    )


def put(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees all of the old content or all of the new."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_bytes(content)
    part.replace(path)


if __name__ == "__main__":
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= OPTIONS:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), *sys.argv[2:])
