"""How long three newcomers take: a trainer, an evaluator and an author who have Python and pip, and nothing of GEM.

    python benchmarks/newcomers.py

They type what docs/start.md, the first guide and the guide to registries say, each in an empty home, with the wheels of
this checkout. Their pip has no cache and takes everything else from its index.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from devtools.newcomer import Newcomer, Spent, served_registry
from devtools.shell import ROOT

PACKAGES = sorted(path.parent for path in (ROOT / "packages").glob("*/pyproject.toml"))
"""All of them: what they type says which are installed, and these bring what they need."""


def main() -> None:
    """Measure, and print a table."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        wheels = folder / "wheels"
        for package in PACKAGES:
            build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", wheels]
            subprocess.run(build, cwd=package, check=True, stdout=subprocess.DEVNULL)
        users = {name: Newcomer(folder / name, wheels) for name in ("trainer", "evaluator", "author")}
        users["trainer"].score()
        users["evaluator"].score()
        users["evaluator"].evaluate()
        users["author"].write()
        users["author"].check()
        with served_registry(folder / "operator") as hub:
            users["author"].publish(hub)
    print("| user | from nothing to | waited | CPU s | of which installing | of which gem check |")
    print("|---|---|---|---|---|---|")
    for name, aim in {
        "trainer": "the first score",
        "evaluator": "that, and the evaluation of a served model",
        "author": "an environment of one's own, played, checked, tested and published",
    }.items():
        spent = users[name].spent
        print(
            f"| {name} | {aim} | {_waited(spent)} | {_cpu(spent)} | {_cpu(_of(spent, 'install'))} "
            f"| {_cpu(_of(spent, 'check'))} |"
        )


def _of(spent: Sequence[Spent], step: str) -> list[Spent]:
    return [one for one in spent if one.step == step]


def _waited(spent: Sequence[Spent]) -> str:
    minutes, seconds = divmod(round(sum(one.wall_seconds for one in spent)), 60)
    return f"{minutes}:{seconds:02}"


def _cpu(spent: Sequence[Spent]) -> str:
    return f"{sum(one.cpu_seconds for one in spent):.0f}" if spent else ""


if __name__ == "__main__":
    main()
