"""The official index in ``hub/index`` and the copy of its search side in gem-core."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
INDEX = ROOT / "hub" / "index"
COPY = ROOT / "packages" / "gem-hub-client" / "src" / "gem_hub_client" / "snapshot"


def test_the_index_and_its_copy_are_what_the_packages_give() -> None:
    """Records, derived files and the copy in gem-core are up to date with the packages of this repository."""
    script = ROOT / "hub" / "update_index.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_copy_in_gem_core_is_the_index_itself() -> None:
    """``root.json`` and the page of each package are the same bytes in both."""
    names = [path.name for path in sorted(INDEX.glob("envs/*.json"))]
    assert names == [path.name for path in sorted(COPY.glob("envs/*.json"))]
    for path in ["root.json", *(f"envs/{name}" for name in names)]:
        assert (COPY / path).read_bytes() == (INDEX / path).read_bytes()


def test_what_has_no_release_says_so() -> None:
    """A package without a release promises no file, and names the folder that it can be installed from."""
    for path in INDEX.glob("envs/*.json"):
        for release in json.loads(path.read_bytes())["releases"]:
            if release["mode"] == "source":
                assert (release["url"], release["sha256"], release["size"]) == ("", "", 0)
                assert (ROOT / release["source"] / "pyproject.toml").is_file()
