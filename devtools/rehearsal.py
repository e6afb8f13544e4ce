"""A release to nobody: everything that happens between a commit and a user who plays, on this machine alone.

A clone gets the version, its notes and its tag; its files go to an index on this machine; users with empty environments
install from there and do what the documents say; an operator records the release and a
user's result, and derives and signs the official index.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from devtools.environments import python_of, uv_variables
from devtools.local_index import local_index
from devtools.release import OWNER, build, prepare, prepare_tools, record, uv
from devtools.shell import ROOT, output_of, run, say

CARD = ("gem-core", "gem-envs-games")
"""What brings ``gem hub search`` and an environment to play."""
SCORED = "game:GuessTheNumber-v0-easy"


def rehearse(version: str) -> None:
    """Release a version to nobody, and end this program where any step of it fails."""
    if output_of("git", "status", "--porcelain", "--untracked-files=no", cwd=ROOT):
        say("changes that are not committed take no part in the rehearsal")
    with tempfile.TemporaryDirectory(prefix="gem-release-") as folder:
        scratch = Path(folder)
        clone = tagged_clone(scratch / "clone", version)
        dist = scratch / "dist"
        build(dist, clone)
        tools = python_of(prepare_tools())
        with local_index(tools, scratch / "index", scratch / "index.log") as index:
            files = [path for path in sorted(dist.iterdir()) if path.suffix in (".whl", ".gz")]
            login = ("--username", "rehearsal", "--password", "rehearsal")
            say(f"uploading {len(files)} files to {index.upload}")
            run(tools, "-m", "twine", "upload", "--non-interactive", "--disable-progress-bar",
                "--repository-url", index.upload, *login, *files)  # fmt: skip
            played = play_as_a_user(scratch, index.simple, version)
        update_hub(scratch, clone, dist, version, played)
    say(f"{version}: the rehearsal succeeded, and nothing of it is left")


def tagged_clone(folder: Path, version: str) -> Path:
    """Return a clone of this repository whose last commit is a version's, with its tag."""
    run("git", "clone", "--quiet", ROOT, folder)
    prepare(version, folder)
    author = ("-c", "user.name=Rehearsal", "-c", "user.email=rehearsal@localhost")
    run("git", "add", "--all", cwd=folder)
    run("git", *author, "commit", "--quiet", "-m", f"Release {version}", cwd=folder)
    run("git", "tag", f"v{version}", cwd=folder)
    return folder


def play_as_a_user(scratch: Path, index: str, version: str) -> Path:
    """Install from the index into an empty environment, search and score there; return the folder of the run."""
    python = empty_environment(scratch / "user")
    install_from(index, python, version, *CARD)
    run(python, "-m", "gem", "hub", "search", "sudoku", cwd=scratch)
    install_from(index, python, version, "gem-eval")
    played = scratch / "runs" / "reference"
    run(python, "-m", "gem", "eval", SCORED, "--agent", "reference", "--episodes", "4", "--out", played, cwd=scratch)
    return played


def empty_environment(folder: Path) -> Path:
    """Make a virtual environment with pip and nothing else; return its Python."""
    run(uv(), "venv", "--quiet", "--seed", "--python", sys.executable, folder, variables=uv_variables())
    return python_of(folder)


def install_from(index: str, python: Path, version: str, *names: str) -> None:
    """Install packages of a version with pip, and what else they need from the index in use."""
    say(f"pip install {' '.join(names)}, from the index on this machine")
    named = [f"{name}=={version}" for name in names]
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--extra-index-url", index, *named)
    run(python, "-m", "pip", "check", "--quiet")


def update_hub(scratch: Path, clone: Path, dist: Path, version: str, played: Path) -> None:
    """Record the release, the kit's verdict and the user's run in the clone; derive, sign and search its index."""
    python = empty_environment(scratch / "operator")
    named = [f"{name}=={version}" for name in ("gem-hub", "gem-testing", "gem-eval", "gem-envs-games")]
    install = ("pip", "install", "--quiet", "--python", python, "--find-links", dist)
    run(uv(), *install, *named, variables=uv_variables())
    gem = (python, "-m", "gem", "hub")
    index = clone / "hub" / "index"
    record(dist, index, f"{dist.as_uri()}/", gem)
    events = scratch / "events"
    run(*gem, "rebuild", "--hub", index, cwd=scratch)  # which numbers the records
    run(*gem, "check", "gem-envs-games", "--hub", index, "--by", OWNER, "--find-links", dist, "--events", events)
    shutil.copytree(events, index, dirs_exist_ok=True)
    run(*gem, "rebuild", "--hub", index, cwd=scratch)
    run(python, clone / "hub" / "official_results.py", played, cwd=clone)
    run(*gem, "rebuild", "--hub", index, cwd=scratch)
    site = scratch / "site"
    run(python, clone / "hub" / "official_index.py", site, "--pages", "--publish", "--sign", cwd=clone)
    own = {"GEM_HUB_HOME": str(scratch / "home"), "GEM_HUB": str(site)}
    run(*gem, "verify", site, cwd=scratch, variables=own)
    run(*gem, "search", "sudoku", cwd=scratch, variables=own)
    run(*gem, "info", SCORED, "--results", cwd=scratch, variables=own)
