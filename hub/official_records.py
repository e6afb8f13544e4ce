#!/usr/bin/env python3
"""Run the conformance kit on the unreleased packages of this repository, for the official index.

    python hub/official_records.py [NAME ...]

A record is written to ``hub/conformance/NAME.json``, which git ignores. It is bound to the digest of the package's
sources: ``hub/official_index.py`` uses it as long as they stay as they are, and this script runs the kit where they
changed.
Without NAME it takes every package of environments that is installed here. Exit code 1 if a clause is violated.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import official_index

from gem_hub import first_observations
from gem_hub.canonical import compact_json
from gem_hub.events import Conformance
from gem_hub.records import Release


def main(*names: str) -> int:
    """Bring the records of packages up to date; return the exit code."""
    projects = {project.parent.name: project for project in official_index.projects()}
    unknown = sorted(set(names) - projects.keys())
    if unknown:
        sys.exit(f"no package of environments {unknown[0]!r}; there are {', '.join(projects)}")
    failed = []
    for name in names or projects:
        release = official_index.unreleased(projects[name])
        if official_index.record_of(release) is not None:
            continue
        print(f"{name}: running the conformance kit", flush=True)  # noqa: T201  # a script
        event, violated = checked(release)
        official_index.put(official_index.record_path(name), compact_json(event.model_dump(mode="json")))
        if violated:
            failed.append(name)
        if official_index.record_of(release) is None:
            sys.exit(f"{name}: what is installed is not what lies in {release.source}; install it from there")
    return 1 if failed else 0


def checked(release: Release) -> tuple[Conformance, bool]:
    """Return the event of a package's check, and whether a clause is violated."""
    with tempfile.TemporaryDirectory() as scratch:
        record, shown = Path(scratch, "record.json"), Path(scratch, "observations.jsonl")
        check = [sys.executable, "-m", "gem", "check", release.name, "--attacks", "--report", str(record)]
        done = subprocess.run(check, check=False)  # noqa: S603  # this repository's own code
        if done.returncode not in (0, 1) or not record.is_file():
            sys.exit(f"{release.name}: the kit ended with code {done.returncode}")
        ids = [environment.id for environment in release.environments]
        subprocess.run([sys.executable, first_observations.__file__, str(shown), *ids], check=True)  # noqa: S603
        lines = shown.read_text(encoding="utf-8").splitlines() if shown.is_file() else []
        event = Conformance(
            created=official_index.EPOCH,
            name=release.name,
            version=release.version,
            by=official_index.PUBLISHER,
            record=json.loads(record.read_text(encoding="utf-8")),
            examples=dict(json.loads(line) for line in lines),
            isolation="none",
        )
    return event, done.returncode == 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
