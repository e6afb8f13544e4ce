"""Plants small defects in the rules of the desks, and counts those that the desks' tests of the main tier notice.

    python benchmarks/desk_mutants.py [--seed N] [--each N] [--only GROUP …] [--show]

Draws N defects (20 unless said otherwise) of each of the four desks, and of what they share, as ``planted_defects.py``
says. Each is planted in the memory of a forked process, which runs the tests of that desk until one fails; no file
changes. Prints two tables in Markdown: the counts, and what no test noticed.
"""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest
from planted_defects import DESKS, SOURCES, Defect, drawn

ROOT = Path(__file__).parents[1]
STAGES = (
    ("reading", "tools"),
    ("library", "telecom", "rules"),
    ("content", "requests", "listening", "histories", "act_answers", "act_states", "checks", "facts"),
    ("ways", "acts", "unasked_facts", "attacks", "phrases", "play"),
)
"""The files of tests, those that fail most first. Those of free text and of models as customers are not among them."""
PRELOADED = ("pydantic", "hypothesis.strategies", "gem.registry", "gem.tools.function", "gem.numbered_tasks")
"""What each forked process has already."""
SECONDS = 600
_NO_TEST = 5
"""The exit code of pytest if no test of some files belongs to a desk."""


def main() -> int:
    """Plant the defects, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--only", nargs="*", choices=(*DESKS, "shared"), default=(*DESKS, "shared"))
    parser.add_argument("--show", action="store_true", help="print the fate of each defect to standard error")
    options = parser.parse_args()
    for name in PRELOADED:
        import_module(name)
    print("| | defects | noticed |\n|---|---|---|")
    unnoticed: list[Defect] = []
    planted = 0
    for group in options.only:
        chosen = drawn(group, options.each, Random(f"{options.seed} {group}"))
        for defect in chosen:
            failed = noticed(defect, group)
            unnoticed += [] if failed else [defect]
            if options.show:
                fate = failed or "NOT NOTICED"
                words = f"{defect.file}:{defect.line} {defect.kind}: {defect.words}: {fate}"
                print(words, file=sys.stderr, flush=True)
        missed = sum(defect in unnoticed for defect in chosen)
        planted += len(chosen)
        print(f"| {group} | {len(chosen)} | {len(chosen) - missed} |", flush=True)
    print(f"| **all** | {planted} | {planted - len(unnoticed)} |")
    print("\n| not noticed in | kind | change |\n|---|---|---|")
    for defect in unnoticed:
        change = defect.words.replace("|", "\\|")
        print(f"| `{defect.file}:{defect.line}` | {defect.kind} | `{change}` |")
    return 0


def noticed(defect: Defect, group: str) -> str:
    """Return the test that fails with a defect; empty if all pass.

    Raises:
        SystemExit: if the tests could not run.
    """
    return next(filter(None, (_failed(defect, group, stage) for stage in STAGES)), "")


def _failed(defect: Defect, group: str, stage: Sequence[str]) -> str:
    """Return the test of some files that fails with a defect; empty if all pass."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _in_child(defect, _arguments(group, stage), writing)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as told:
        name = told.read()
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == _NO_TEST:
        return ""
    if code > 1 or (code == 1) != bool(name):
        raise SystemExit(f"the tests of {defect.file}:{defect.line} could not run, exit code {code}")
    return name or (f"ended by signal {-code}" if code else "")


def _in_child(defect: Defect, arguments: list[str], writing: int) -> None:
    """Plant a defect, run the tests, write the name of the first that fails, and end the process."""
    code = 99
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        _plant(defect)
        first = _FirstFailure()
        code = int(pytest.main(arguments, plugins=[first]))
        os.write(writing, first.name.encode())
    finally:
        os._exit(code)


def _arguments(group: str, stage: Sequence[str]) -> list[str]:
    """Return pytest's arguments: the files of the desks' tests, without those of other desks."""
    files = [ROOT / "packages" / "gem-envs-desk" / "tests" / f"test_desk_{name}.py" for name in stage]
    others = " or ".join(desk for desk in DESKS if desk != group)
    chosen = [] if group == "shared" else ["-k", f"not ({others})"]
    quiet = ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # of what is preloaded
    settings = ("-x", "-q", *quiet, "-p", "no:cacheprovider", f"--timeout={SECONDS}", "--rootdir", str(ROOT))
    return [*map(str, files), *chosen, *settings]


class _FirstFailure:
    """Remembers the test that failed first, or what could not be collected."""

    name = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid.rpartition("/")[2]

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self.name:
            self.name = f"collection of {report.nodeid.rpartition('/')[2]}"


def _plant(defect: Defect) -> None:
    """Let this process find the changed source in place of the file."""
    path, source = SOURCES / defect.file, defect.source()
    if path.suffix != ".py":
        read = Path.read_text

        def read_text(self: Path, *args: Any, **kwargs: Any) -> str:
            return source if self.resolve() == path.resolve() else read(self, *args, **kwargs)

        Path.read_text = read_text  # type: ignore[method-assign]
        return
    name = ".".join(("gem_envs_desk", *path.relative_to(SOURCES).with_suffix("").parts))
    sys.meta_path.insert(0, _Finder(name, path, source))


class _Finder:
    """Finds one module, with another source than its file has."""

    def __init__(self, name: str, path: Path, source: str) -> None:
        self.name, self.path, self.source = name, path, source

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self.name:
            return None
        loader = _Loader(name, str(self.path))
        loader.source = self.source
        return importlib.util.spec_from_file_location(name, self.path, loader=loader)


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module from a source in memory, without compiled files."""

    source = ""

    def get_data(self, path: str) -> bytes:
        return self.source.encode()

    def path_stats(self, path: str) -> Any:
        raise OSError("no compiled file belongs to a source in memory")


if __name__ == "__main__":
    sys.exit(main())
