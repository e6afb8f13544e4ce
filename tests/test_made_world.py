"""A package that ``gem new --from`` has made, on its way from the description to a hub: by commands, from wheels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

NEEDED = ("gem-core", "gem-hub-client", "gem-testing", "gem-tools", "gem-hub", "gem-eval")
TOOLS = {
    "title": "Bike rental",
    "tools": [
        {
            "name": "add_bike",
            "parameters": {
                "type": "object",
                "properties": {"model": {"type": "string"}, "gears": {"type": "integer", "minimum": 1, "maximum": 30}},
                "required": ["model"],
            },
        },
        {"name": "list_bikes", "parameters": {"type": "object", "properties": {"model": {"type": "string"}}}},
        {
            "name": "delete_bike",
            "parameters": {"type": "object", "properties": {"bike_id": {"type": "string"}}, "required": ["bike_id"]},
        },
        {"name": "polish_bike", "parameters": {"type": "object", "properties": {"bike_id": {"type": "string"}}}},
    ],
}


class Author:
    """A folder with a virtual environment, and the commands of its programs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GEM_", "PYTHON"))}
        self.environment = {**kept, "HOME": str(folder), "XDG_CACHE_HOME": "", "XDG_CONFIG_HOME": ""}

    def gem(self, *arguments: str | Path) -> str:
        """Return what a command prints; fail with its output."""
        command = [str(self.folder / "venv" / "bin" / "gem"), *map(str, arguments)]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def mean(self, *options: str) -> float:
        """Return the mean return of an evaluation."""
        report = json.loads(self.gem("eval", "bike-desk:BikeRental-v0", *options, "--episodes", "4", "--json"))
        (played,) = report["summary"]["environments"]
        assert (played["episodes"], played["failed"]) == (4, 0)
        return float(played["mean_return"]["value"])


@pytest.mark.nightly  # builds wheels and makes an environment of them
def test_a_made_package_goes_the_way_of_any_other(
    tmp_path: Path,
    package_folders: dict[str, Path],
    build_wheel: Callable[[Path, Path], Path],
    make_environment: Callable[..., Path],
) -> None:
    """Made, built, installed, checked, evaluated with policies and with a model, and passed by the gate of a hub."""
    ours = [build_wheel(package_folders[name], tmp_path) for name in NEEDED]
    desk = build_wheel(package_folders["gem-envs-desk"], tmp_path)
    make_environment(tmp_path / "venv", "pip", *ours, f"gem-envs-desk[synthesis] @ {desk.as_uri()}")
    author = Author(tmp_path)
    (tmp_path / "bikes.json").write_text(json.dumps(TOOLS), encoding="utf-8")
    made = json.loads(author.gem("new", "bike-desk", "--from", "bikes.json", "--tasks", "24", "--json"))
    assert made["summary"][0].startswith("24 tasks passed the checks")
    assert any("polish_bike" in line for line in made["summary"])

    wheel = build_wheel(tmp_path / "bike-desk", tmp_path)
    pip = [sys.executable, "-m", "pip", "--python", str(tmp_path / "venv" / "bin" / "python")]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", str(wheel)], check=True)
    author.gem("check", "bike-desk", "--strict", "--report", "conformance.json")

    assert author.mean("--agent", "reference") == 1.0
    assert author.mean("--agent", "null") == 0.0
    fake = [str(tmp_path / "venv" / "bin" / "gem"), "fake-model", "--policy", "random", "--port", "0", "--json"]
    with subprocess.Popen(
        [*fake, "--until-eof"], cwd=tmp_path, env=author.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as model:
        try:
            assert model.stdout is not None
            url = json.loads(model.stdout.readline())["url"]
            assert author.mean("--base-url", url, "--max-turns", "4") == 0.0
        finally:
            model.kill()

    gate = json.loads(
        author.gem("hub", "publish", wheel, "--hub", "hub", "--report", "conformance.json", "--dry-run", "--json")
    )
    assert [one["stage"] for one in gate["wheels"]] == ["passed"]
    assert not list((tmp_path / "hub").glob("releases/*"))
