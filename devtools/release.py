"""Releases: one version for all packages, from the fragments of the changelog to files that installers read.

``prepare`` writes the version and the release notes for a commit, which is reviewed and tagged like any other.
``build`` makes the files of the tagged commit; a workflow attests and uploads them. ``record`` enters them
into the hub's index.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
import zipfile
from datetime import datetime, timezone
from pathlib import Path

from devtools.environments import BIN, TOOL, folder_of, hatch_run, python_of, uv_variables
from devtools.shell import ROOT, fail, output_of, run, say
from devtools.versions import current_version, set_version
from devtools.workspace import package_folders

NOTES = "RELEASE_NOTES.md"
SUMS = "SHA256SUMS"
BILL = "sbom.cdx.json"
OWNER = "hub-index"
"""The operator of the official index, who alone may publish under the prefix of its packages."""


def prepare(version: str, root: Path = ROOT) -> None:
    """Write a version, and an entry of the changelog from its fragments, which go."""
    fragments = sorted((root / "changelog.d").glob("+*.md"))
    if not fragments:
        fail("changelog.d holds no fragment, so there is nothing to release")
    changed = set_version(version, root)
    towncrier(root, version)
    citation = root / "CITATION.cff"
    text = citation.read_text(encoding="utf-8")
    text = re.sub(r"^version: .*$", f"version: {version}", text, flags=re.MULTILINE)
    text = re.sub(r"^date-released: .*$", f"date-released: {today()}", text, flags=re.MULTILINE)
    citation.write_text(text, encoding="utf-8")
    say(f"{version}: wrote {len(changed)} files, and {len(fragments)} fragments became its notes in CHANGELOG.md")
    say(f"look at it, commit it, and tag it: git commit -am 'Release {version}' && git tag v{version}")


def towncrier(root: Path, version: str) -> None:
    """Turn the fragments into an entry of the changelog."""
    tool = python_of(prepare_tools())
    run(tool, "-m", "towncrier", "build", "--yes", "--version", version, "--date", today(), cwd=root)


def today() -> str:
    """Return the date in UTC."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%d")


def prepare_tools() -> Path:
    """Return the environment with the tools of releases: towncrier, twine, a server of an index, a maker of SBOMs."""
    code = hatch_run("release", "python", "--version")
    if code:
        raise SystemExit(code)
    return folder_of("release")


def uv() -> Path:
    """Return the program uv beside Hatch."""
    return TOOL / BIN / ("uv.exe" if os.name == "nt" else "uv")


def build(out: Path, root: Path = ROOT) -> None:
    """Build the wheel and the source archive of every package of the commit, and check them.

    The files have the commit's time, so that whoever builds it again gets the same bytes. Beside them lie the release
    notes, the digests, and the bill of materials (CycloneDX) of an environment with all packages in it.
    """
    version = current_version(root)
    if output_of("git", "status", "--porcelain", cwd=root):
        fail("the working tree has changes, and a release is built from a commit; commit them first")
    tags = (output_of("git", "tag", "--points-at", "HEAD", cwd=root) or "").split()
    if tags and f"v{version}" not in tags:
        fail(f"the commit has the tag {', '.join(tags)}, and its packages have version {version}")
    if out.exists() and any(out.iterdir()):
        fail(f"{out}: is not empty; remove it first")
    out.mkdir(parents=True, exist_ok=True)
    notes = notes_of(version, root)
    tools = python_of(prepare_tools())
    moment = {"SOURCE_DATE_EPOCH": (output_of("git", "log", "-1", "--format=%ct", cwd=root) or "0").strip()}
    for name, folder in package_folders(root).items():
        say(f"building {name} {version}")
        run(uv(), "build", "--quiet", "--out-dir", out, folder, variables={**uv_variables(), **moment})
    (out / ".gitignore").unlink(missing_ok=True)
    files = sorted(path for path in out.iterdir() if path.suffix in (".whl", ".gz"))
    run(tools, "-m", "twine", "check", "--strict", *files)
    (out / NOTES).write_text(notes, encoding="utf-8")
    write_bill(out, tools)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (out / SUMS).write_text("".join(lines), encoding="utf-8")
    say(f"{version}: {len(files)} files in {out}, with {NOTES}, {SUMS} and {BILL}")


def notes_of(version: str, root: Path) -> str:
    """Return the changelog's entry about a version; without one that is no candidate, end this program."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(version)} \(.*?\)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        fail(f"CHANGELOG.md says nothing about {version}; run: python3 dev.py release prepare VERSION")
    return found[1].strip() + "\n"


def write_bill(out: Path, tools: Path) -> None:
    """Install all wheels into an empty environment, and write what is in it, with licences."""
    with tempfile.TemporaryDirectory(prefix="gem-bill-") as scratch:
        venv = Path(scratch, "venv")
        run(uv(), "venv", "--quiet", "--python", sys.executable, venv, variables=uv_variables())
        wheels = sorted(out.glob("*.whl"))
        run(uv(), "pip", "install", "--quiet", "--python", python_of(venv), *wheels, variables=uv_variables())
        made = ("environment", python_of(venv), "--output-format", "JSON", "--output-reproducible", "-o", out / BILL)
        run(tools, "-m", "cyclonedx_py", *made)


def record(dist: Path, hub: Path, url: str, gem: tuple[str | Path, ...]) -> None:
    """Write a record for each wheel of environments into the checkout of an index.

    Args:
        dist: the folder of the wheels.
        hub: the checkout.
        url: where the wheels can be fetched; their names are appended.
        gem: the command ``gem hub``.
    """
    for wheel in sorted(dist.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            has_environments = any(name.endswith("/environments.toml") for name in archive.namelist())
        if has_environments:
            run(*gem, "publish", wheel, "--pull-request", "--no-check", "--by", OWNER,
                "--hub", hub, "--url", url + wheel.name)  # fmt: skip
