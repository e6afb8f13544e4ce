"""Makes sets of tasks from packages that are drawn by a rule, and prints what came of each.

    python benchmarks/swe_packages.py benchmarks/swe_package_names.txt --out FOLDER
    python benchmarks/swe_packages.py NAMES --out FOLDER --packages 30 --tasks 100 --seconds 600
    python benchmarks/swe_packages.py NAMES --out FOLDER --packages 30 --tasks 100 --seconds 600 --further

NAMES is a file of names of packages, one a line. ``swe_package_names.txt`` has 881: the wheels that an image for
developers in Python came with, whatever they are. The rule: the names are sorted, then shuffled with the seed. Each one
is drawn if its newest source archive on the user's index that runs on the image's Python has a PKG-INFO, Python files
of tests, at most 20,000 lines of Python beside them, and no source in a compiled language. Nothing else decides, and a
package that becomes no set counts among those drawn. The command runs once for each package.

FOLDER keeps the archives, the sets and ``records.jsonl``, of which the last record of a package counts. What has one is
not done again; ``--further`` goes on with the packages that time ended.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from gem_envs_swe.errors import SweError
from gem_envs_swe.making.archives import configured_indexes, fetch_archive, unpack_archive
from gem_envs_swe.making.baseline import is_test_file
from gem_envs_swe.making.proof_journal import is_unfinished
from gem_envs_swe.making.set_maker import python_of_images
from gem_terminal.engines import engine_by_name

_MOST_LINES = 20_000
_PATIENCE = 600  # seconds for what is before and after the proofs
_GRACE = 20  # seconds from SIGTERM to SIGKILL
_ADDRESS = re.compile(r"https?://[^\s,;]+")
_COMPILED = (".c", ".cc", ".cpp", ".cxx", ".pyx", ".rs", ".f", ".f90", ".go")


@cache
def surroundings(engine_name: str) -> tuple[list[str], str]:
    """Return the addresses of the indexes, and the version of Python of an engine's images."""
    with closing(engine_by_name(engine_name)) as engine:
        return configured_indexes(), python_of_images(engine)


def why_not(name: str, folder: Path, engine_name: str) -> tuple[Path | None, str]:
    """Return the archive of a package, and why the rule leaves it out; empty if it is drawn."""
    indexes, python = surroundings(engine_name)
    try:
        archive = fetch_archive(Requirement(name), indexes, folder, python)
        with tempfile.TemporaryDirectory() as scratch:
            tree = unpack_archive(archive, Path(scratch))
            files = {str(path.relative_to(tree)): path for path in tree.rglob("*") if path.is_file()}
            if any(path.suffix in _COMPILED for path in files.values()):
                return None, "it has sources in a compiled language"
            python = {name: path for name, path in files.items() if path.suffix == ".py"}
            if not any(is_test_file(name) for name in python):
                return None, "its archive has no tests"
            lines = sum(path.read_bytes().count(b"\n") for name, path in python.items() if not is_test_file(name))
            return archive.path, "it is too large" if lines > _MOST_LINES else ""
    except SweError as error:
        return None, f"no source archive: {_ADDRESS.sub('the index', str(error))}"


def made(archive: Path, folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    """Run the command on an archive; return its set's figures or its last line, and CPU seconds with its containers."""
    command = [str(Path(sys.executable).with_name("gem")), "swe", "make", str(archive), "--out", str(folder), "--json"]
    command += ["--tasks", str(given.tasks), "--seed", str(given.seed), "--engine", given.engine]
    command += ["--seconds", str(given.seconds)]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=output, stderr=errors, start_new_session=True)
        late: list[int] = []

        def stop(*_: object) -> None:
            late.append(signal.SIGKILL if late else signal.SIGTERM)
            signal.alarm(_GRACE)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, late[-1])

        signal.signal(signal.SIGALRM, stop)
        signal.alarm(given.seconds + _PATIENCE)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            signal.alarm(0)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        cost = round(usage.ru_utime + usage.ru_stime, 1)
        if process.returncode == 0:
            described = json.loads(output.read())
            return {key: described[key] for key in ("version", "tests", "tasks", "kinds", "rejected")} | {"cpu": cost}
        if late:
            return {"why": f"no end within {given.seconds + _PATIENCE} s", "late": True, "cpu": cost}
        said = errors.read().decode(errors="replace").rpartition("Error: ")[2].split() or [f"exit {process.returncode}"]
        why = {"why": " ".join(said)[:600], "cpu": cost}
        return why | {"late": True} if "became a task within" in why["why"] else why


def records(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the record of each package that the rule draws, and of those that it leaves out."""
    path = given.out / "records.jsonl"
    known = {}
    if path.exists():
        known = {record["name"]: record for record in map(json.loads, path.read_text(encoding="utf-8").splitlines())}
    names = sorted(set(given.names.read_text(encoding="utf-8").split()))
    random.Random(given.seed).shuffle(names)
    drawn = 0
    for name in names:
        if drawn == given.packages:
            return
        record = known.get(name)
        folder = given.out / "sets" / name
        if record is None or (given.further and (is_unfinished(folder) or "late" in record)):
            spent = 0 if record is None else record["cpu"]
            archive, reason = why_not(name, given.out / "archives", given.engine)
            record = {"name": name, "left_out": reason}
            if archive is not None and not reason:
                record = {"name": name} | made(archive, folder, given)
                record["cpu"] = round(record["cpu"] + spent, 1)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
        drawn += "left_out" not in record
        yield record


def main() -> None:
    """Draw, make, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--packages", type=int, default=30)
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=3600, help="by the clock, for the proofs of a package")
    parser.add_argument("--further", action="store_true", help="go on with the packages whose seconds are used up")
    parser.add_argument("--engine", default="namespace", help="the cost of containers is counted on this one alone")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    left_out: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    rejected: Counter[str] = Counter()
    costs = []
    print("| package | tests | tasks | CPU s a task | kinds, or why there is no set |\n|---|---|---|---|---|")
    for record in records(given):
        if "left_out" in record:
            left_out[record["left_out"].partition(":")[0]] += 1
        elif "why" in record:
            print(f"| {record['name']} | | 0 | | {record['why'].replace('|', '/')} |", flush=True)
        else:
            cost = record["cpu"] / record["tasks"]
            costs.append(cost)
            kinds.update(record["kinds"])
            rejected.update(record["rejected"])
            listed = ", ".join(f"{count} {kind}" for kind, count in record["kinds"].items())
            named = f"{record['name']} {record['version']}"
            print(f"| {named} | {record['tests']} | {record['tasks']} | {cost:.1f} | {listed} |", flush=True)
    median = f"{statistics.median(costs):.1f}" if costs else "none"
    print(f"\n{len(costs)} sets, {kinds.total()} tasks: {dict(kinds)}; median over the sets: {median} CPU s a task")
    print("\n| why a change was rejected | changes |\n|---|---|")
    print("".join(f"| {why} | {count} |\n" for why, count in rejected.most_common()))
    print("| why the rule left a package out | packages |\n|---|---|")
    print("".join(f"| {why} | {count} |\n" for why, count in left_out.most_common()))


if __name__ == "__main__":
    main()
