#!/usr/bin/env python3
"""Bring the official index up to date with the packages of this repository.

    python hub/update_index.py            describe the packages, derive hub/index/, copy the search side into gem-core
    python hub/update_index.py --check    change nothing; exit 1 and say what would change

A package without a release has a record in mode ``source``, which says in which folder of this repository it lies. It
is read from the package's ``pyproject.toml``, readme and ``environments.toml``; nothing of it is imported. Once a
release is recorded, its record is never touched again, and this script leaves the package alone.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

import click

from gem.discovery.manifest import FILE_NAME, read_specs
from gem_hub.embed import embed
from gem_hub.records import CoreMetadata, Release, environments_of, now
from gem_hub.store import Store

if sys.version_info >= (3, 11):
    from tomllib import loads
else:
    from tomli import loads

ROOT = Path(__file__).resolve().parents[1]
INDEX = ROOT / "hub" / "index"
COPY = ROOT / "packages" / "gem-hub-client" / "src" / "gem_hub_client" / "snapshot"
PUBLISHER = "gem"


def main(arguments: list[str]) -> int:
    """Run the command of the module's docstring; return the exit code."""
    parser = argparse.ArgumentParser(description="Bring hub/index up to date with the packages of this repository.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if something would change")
    check = parser.parse_args(arguments).check
    differing = update(INDEX, COPY, check)
    for path in differing:
        click.echo(f"{'differs' if check else 'written'}: {path}")
    if check and differing:
        click.echo("run: python hub/update_index.py", err=True)
    return 1 if check and differing else 0


def update(index: Path, copy: Path, check: bool = False) -> list[str]:
    """Bring an index and the copy of its search side up to date; return what differed."""
    store = Store(index)
    differing = []
    for project in sorted(ROOT.glob("packages/*/pyproject.toml")):
        release = described(project)
        if release is not None and store.is_news(release):
            differing.append(f"the record of {release.name} {release.version}")
            if not check:
                store.describe(release)
    differing += [f"{index.name}/{path}" for path in [*store.rebuild(check), *superseded(index, check)]]
    return differing + [f"{copy.name}/{path} (copy)" for path in embed(store.truth, copy, check)]


def superseded(index: Path, check: bool) -> list[str]:
    """Remove files of the catalogue that nothing names any more; a repository remembers them anyway."""
    named = (index / "root.json").read_text(encoding="utf-8") if (index / "root.json").exists() else ""
    paths = [path for path in sorted(index.glob("catalog/*")) if path.name not in named]
    for path in paths:
        if not check:
            path.unlink()
    return [path.relative_to(index).as_posix() for path in paths]


def described(project: Path) -> Release | None:
    """Return what a project's files say about it; None if it offers no environments."""
    document = loads(project.read_text(encoding="utf-8"))
    table: dict[str, Any] = document["project"]
    namespaces = table.get("entry-points", {}).get("gem.envs", {})
    if not namespaces:
        return None
    folder = project.parent
    (package,) = {folder / "src" / value for value in namespaces.values()}
    code = (folder / document["tool"]["hatch"]["version"]["path"]).read_text(encoding="utf-8")
    version = re.search(r'^__version__ = "(.+)"$', code, re.MULTILINE)
    assert version is not None, project
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
        published=now(),
        publisher=PUBLISHER,
        mode="source",
        source=folder.relative_to(ROOT).as_posix(),
        metadata=metadata,
        environments=environments_of(read_specs(package / FILE_NAME)),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
