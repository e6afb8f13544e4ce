"""A package's own tree and what its tests do there: :class:`PackageTree` and :class:`Baseline`."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path, PurePosixPath

from gem_envs_swe.errors import SweError
from gem_envs_swe.making.dependent_tests import dependent_tests
from gem_envs_swe.making.python_source import PythonSource
from gem_envs_swe.making.suites import TEST_ARGUMENTS, SuiteRun, SuiteRunner
from gem_envs_swe.task_set import REPOSITORY

__all__ = ["HASH_SEEDS", "Baseline", "PackageTree", "is_test_file", "measure_baseline"]

HASH_SEEDS = (0, 1, 2)
"""``PYTHONHASHSEED`` of the three runs, each of which has another order of the tests as well."""
_TEST_FILE = re.compile(r"(?:^|/)(?:tests?|testing|conftest\.py|test_[^/]*\.py|[^/]*_tests?\.py)(?:/|$)")

_OTHER_NAME = re.compile(r"(?:^|/)(?:tests?|[^/]*_tests|tests_[^/]*|[^/]*Tests?)\.py$")
"""Files of tests that pytest does not find by itself."""


def is_test_file(path: str) -> bool:
    """Return whether a file, relative to its tree, belongs to tests by its name."""
    return _TEST_FILE.search(path) is not None


class PackageTree:
    """The Python files of a package's source.

    Args:
        folder: the tree.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[str, str] = {}
        for path in sorted(folder.rglob("*.py")):
            try:
                with path.open(encoding="utf-8", newline="") as file:
                    self.files[str(path.relative_to(folder))] = file.read()
            except UnicodeDecodeError:
                continue
        self._sources: dict[str, PythonSource | None] = {}

    def source(self, path: str) -> PythonSource | None:
        """Return a file by its path; None if it is no Python that this Python reads."""
        if path not in self._sources:
            try:
                self._sources[path] = PythonSource(path, self.files[path])
            except (KeyError, SyntaxError, ValueError, RecursionError):
                self._sources[path] = None
        return self._sources[path]


@dataclass(frozen=True)
class Baseline:
    """What the tests of a package do in its own tree."""

    tree: PackageTree
    first: SuiteRun
    stable: frozenset[str]
    """The tests that passed three times, in different orders and with different hash seeds, and in parts of the suite
    whatever else ran."""
    left_out: Mapping[str, str]
    """The other tests → why."""
    arguments: tuple[str, ...] = TEST_ARGUMENTS
    """Those of pytest, without a plugin that keeps it from running any test."""

    @cached_property
    def test_files(self) -> frozenset[str]:
        """The files that have tests, or belong to them by their name."""
        named = {test.partition("::")[0] for test in self.first.outcomes}
        return frozenset(named | {path for path in self.tree.files if is_test_file(path)})

    @cached_property
    def source_files(self) -> list[str]:
        """The files of which tests run something, without the tests themselves."""
        return sorted(
            path for path, tests in self.first.lines.items()
            if path not in self.test_files and path in self.tree.files and any(test in self.stable for test in tests)
        )  # fmt: skip

    @cached_property
    def package_files(self) -> list[str]:
        """All files that are Python and no tests."""
        return [path for path in self.tree.files if path not in self.test_files and self.tree.source(path) is not None]

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of the package's functions and classes, by which tests call them."""
        sources = [source for path in self.package_files if (source := self.tree.source(path)) is not None]
        dotted = [definition.name for source in sources for definition in source.definitions]
        return frozenset(part for name in dotted for part in name.split("."))

    @cached_property
    def _tests_by_line(self) -> dict[str, dict[int, set[str]]]:
        found: dict[str, dict[int, set[str]]] = {}
        for path, tests in self.first.lines.items():
            by_line = found[path] = defaultdict(set)
            for test, lines in tests.items():
                for line in lines:
                    by_line[line].add(test)
        return found

    def covering(self, lines: Mapping[str, Collection[int]]) -> set[str]:
        """Return the stable tests that run one of these lines; all of them if a line runs outside of tests."""
        found: set[str] = set()
        for path, wanted in lines.items():
            by_line = self._tests_by_line.get(path, {})
            found.update(*(by_line.get(line, ()) for line in wanted))
        return set(self.stable) if "" in found else found & self.stable

    def seconds(self, tests: Iterable[str]) -> float:
        """Return how long tests took, in seconds of the clock."""
        return sum(self.first.durations.get(test, 0.0) for test in tests)

    def place(self, test: str) -> tuple[str, int] | None:
        """Return the file, relative to the tree, and the first line of a test's function, if it stands in the tree."""
        place = self.first.places.get(test) or ()
        if len(place) != 3:
            return None
        path = PurePosixPath(str(place[0]))
        if not path.is_relative_to(REPOSITORY):
            return None
        return str(path.relative_to(REPOSITORY)), int(place[1])


def measure_baseline(tree: PackageTree, runner: SuiteRunner, seed: int, seconds: float) -> Baseline:
    """Run the tests of a package three times, and in parts.

    Args:
        tree: its files.
        runner: with its image.
        seed: of the orders of the tests.
        seconds: the time limit of a run.

    Raises:
        SweError: if there are no tests, or they do not end.
    """
    files: list[str] = []

    def run(
        hash_seed: int, order: int | None, *, tests: Collection[str] | None = None, noting: bool = False
    ) -> SuiteRun:
        chosen = files if tests is None else {test.partition("::")[0] for test in tests}
        done = runner.run(
            tests=tests, files=chosen, hash_seed=hash_seed, order=order, seconds=seconds, coverage=noting, locate=noting
        )
        if done.timeout is not None:
            raise SweError(
                f"the package's own tests do not end within {seconds:.0f} s; give them more with --suite-seconds"
            )
        if done.died is not None:
            raise SweError(f"the package's own tests end their process: {done.output[-500:] or done.died}")
        return done

    first = run(HASH_SEEDS[0], None, noting=True)
    if not first.outcomes:  # pytest looks for names that not every package uses
        files = [path for path in tree.files if _OTHER_NAME.search(path)]
        first = run(HASH_SEEDS[0], None, noting=True) if files else first
    if not first.outcomes:
        first = _without_a_plugin(runner, partial(run, HASH_SEEDS[0], None, noting=True)) or first
    if not first.outcomes:
        why = next(iter(first.broken_files.values()), first.output).strip()[-500:]
        raise SweError(f"pytest finds no test in the source archive: {why or 'it has none'}")
    second_seeds = HASH_SEEDS[1], seed + HASH_SEEDS[1]
    runner.modules = first.modules
    second = run(*second_seeds)
    odd = {test for test, _ in first.outcomes.items() ^ second.outcomes.items()}
    if odd:  # by the order, by the hash seed, or by what is imported before: the same tests without that tell
        imported = run(*second_seeds, tests=odd)
        runner.modules = []
        runner.restart()
        if imported.outcomes == run(*second_seeds, tests=odd).outcomes:
            runner.modules = first.modules
        else:
            second = run(*second_seeds)
    runs = [first, second, *(run(hash_seed, seed + hash_seed) for hash_seed in HASH_SEEDS[2:])]
    stable = frozenset.intersection(*(frozenset(each.named("passed")) for each in runs))
    left_out = {}
    for test in set().union(*(each.outcomes for each in runs)) - stable:
        outcomes = {each.outcomes.get(test, "missing") for each in runs}
        left_out[test] = outcomes.pop() if len(outcomes) == 1 else "flaky"
    left_out |= dict.fromkeys(first.broken_files, "cannot be collected")
    dependent = dependent_tests(stable, runner, random.Random(seed), seconds)
    left_out |= dependent
    stable -= dependent.keys()
    if not stable:
        worst = next(iter(first.failures.values()), None)
        raise SweError(
            f"none of the package's own tests passes{'' if worst is None else f': {worst.type}: {worst.message[:300]}'}"
        )
    return Baseline(tree, first, stable, dict(sorted(left_out.items())), runner.arguments)


def _without_a_plugin(runner: SuiteRunner, run: Callable[[], SuiteRun]) -> SuiteRun | None:
    """Return a run without a plugin of pytest that keeps all tests from running, as one that is older may do."""
    arguments = runner.arguments
    for plugin in runner.plugins():
        runner.arguments = (*arguments, "-p", f"no:{plugin}")
        if (done := run()).outcomes:
            return done
    runner.arguments = arguments
    return None
