"""Engines of other packages, found by their entry points."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

THIRD_PARTY = """
from gem_terminal.engines.namespace import NamespaceEngine

class SomeEngine(NamespaceEngine):
    name = "somewhere"

    def __init__(self, address=""):
        super().__init__()
        self.address = address
"""


@pytest.mark.slow(reason="four processes of the command, each with its imports")
def test_an_engine_of_another_package_is_found_by_its_name(tmp_path: Path, engine_variables: None) -> None:
    """Commands list it, environments take it, and a broken one is told; "auto" chooses neither."""
    (tmp_path / "some_engines.py").write_text(THIRD_PARTY)
    info = tmp_path / "some_engines-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-engines\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[gem_terminal.engines]\nsomewhere = some_engines:SomeEngine\nbroken = some_engines:Missing\n"
        "docker = some_engines:SomeEngine\nno-engine = some_engines:dict\n"
        "[gem_terminal.engine_addresses]\nsome = some_engines:SomeEngine\nbroken = some_engines:Missing\n"
    )
    variables = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=variables, check=False)

    rows = {row["name"]: row for row in json.loads(run("-m", "gem", "terminal", "engines", "--json").stdout)}
    assert {"docker", "namespace", "somewhere", "broken", "no-engine"} <= set(rows)
    assert "some" not in rows  # nothing is there without an address
    assert rows["somewhere"]["works"]
    assert "some_engines:Missing" in rows["broken"]["problem"]
    assert not rows["somewhere"]["auto"]
    code = (
        "from gem_terminal import TerminalEnv\nfrom gem_terminal.engines import engine_by_name\n"
        "with TerminalEnv('ledger', engine='somewhere') as env:\n"
        "    env.reset(seed=0)\n    print(type(env.engine).__name__, env.step('<bash>echo 7</bash>')[0])\n"
        "print(engine_by_name('some://one/two').address, engine_by_name('some:').address)\n"
        "try: engine_by_name('broken:x')\nexcept RuntimeError as error: print(error)\n"
    )
    done = run("-c", code)
    *shown, broken = done.stdout.splitlines()
    assert shown == ["SomeEngine 7", "[exit code 0]", "some://one/two some:"], done.stderr
    assert broken.startswith("the engine broken:x (some_engines:Missing) cannot be made")
    done = run("-m", "gem", "terminal", "build", "ledger", "--engine", "nowhere")
    assert done.returncode == 2
    assert "nowhere" in done.stderr
