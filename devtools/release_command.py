"""``dev.py release``: a version and its notes, built files, their records in the hub, and a try of all of it."""

from __future__ import annotations

import argparse
from pathlib import Path

from devtools.rehearsal import rehearse
from devtools.release import build, prepare, record
from devtools.shell import ROOT
from devtools.versions import current_version, parts


def release(arguments: list[str]) -> int:
    """Run ``dev.py release``; return the exit code."""
    parser = argparse.ArgumentParser(prog="dev.py release", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("prepare", help="write a version and its release notes into the working tree")
    one.add_argument("version", help="X.Y.Z, or X.Y.ZrcN for a candidate")
    one = commands.add_parser("build", help="build every package of the commit, checked, with notes, digests and SBOM")
    one.add_argument("--out", type=Path, default=ROOT / "dist", help="an empty folder (default: dist)")
    one = commands.add_parser("rehearse", help="prepare, build, upload and install, all on this machine")
    one.add_argument("version", nargs="?", help="default: the next minor version")
    one = commands.add_parser("record", help="write the records of built wheels into a checkout of the hub's index")
    one.add_argument("--dist", type=Path, default=ROOT / "dist", help="the folder of the wheels (default: dist)")
    one.add_argument("--hub", type=Path, default=ROOT / "hub" / "index", help="the checkout (default: hub/index)")
    one.add_argument("--url", required=True, help="where the wheels can be fetched; their names are appended")
    given = parser.parse_args(arguments)
    if given.command == "prepare":
        prepare(given.version)
    elif given.command == "build":
        build(given.out)
    elif given.command == "record":
        record(given.dist, given.hub, given.url, ("gem", "hub"))
    else:
        rehearse(given.version or next_minor(current_version()))
    return 0


def next_minor(version: str) -> str:
    """Return the first version after all that share a version's first two numbers."""
    major, minor, *_ = parts(version)
    return f"{major}.{minor + 1}.0"
