"""Tests that depend on which other tests run: :func:`dependent_tests`.

The verdict on an episode runs the tests of its task with a sample of the others. A test that needs what another one
imported, or left behind, passes in the whole suite and fails in such a sample, and nobody's solution would be paid.
"""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterator

from gem_envs_swe.making.suites import SuiteRunner
from gem_envs_swe.verdicts.verdict import SAMPLE

__all__ = ["dependent_tests"]

_PARTS = (2, 4, 8)
"""Into how many parts the tests are divided in turn, each of which runs without the others."""
_LEAST_PART = 5
"""Tests in such a part at least."""
_MOST_SAMPLES = 8
"""Parts that run as in an episode, each as large as the sample of a verdict; where there are more tests, larger."""


def dependent_tests(
    tests: Collection[str], runner: SuiteRunner, generator: random.Random, seconds: float
) -> dict[str, str]:
    """Return the tests that do not pass in every part of a suite → why.

    Each test runs alone, in the tree as it was and with its own file collected alone; then the tests run in halves,
    quarters and eighths drawn by chance; and then as the verdict of an episode runs them, in fresh containers.

    Args:
        tests: those that pass in the whole suite.
        runner: runs them.
        generator: draws the parts.
        seconds: the time limit of all of it, by the clock. A test that no run has proved by then is dependent.
    """
    end = time.monotonic() + seconds
    independent = set(tests)
    for file in sorted({test.partition("::")[0] for test in tests}):
        of_file = {test for test in tests if test.partition("::")[0] == file}
        passed = _passed(runner, of_file, end, alone=True)
        for test in sorted(of_file - passed):  # it may need a thread, which a fork has not
            passed |= _passed(runner, {test}, end)
        independent -= of_file - passed
    for count in (count for count in _PARTS if count * _LEAST_PART <= len(tests)):
        for part in _parts(independent, count, generator):
            independent -= part - _passed(runner, part, end)
    left_out = dict.fromkeys(sorted({*tests} - independent), "depends on other tests")
    for part in _parts(independent, min(_MOST_SAMPLES, -(-len(independent) // SAMPLE)), generator):
        left_out |= dict.fromkeys(sorted(_refused(runner, part, end)), "does not pass in a verdict")
    return left_out


def _passed(runner: SuiteRunner, tests: set[str], end: float, *, alone: bool = False) -> set[str]:
    left = end - time.monotonic()
    if left <= 0:
        return set()
    files = {test.partition("::")[0] for test in tests}
    return runner.run(tests=tests, files=files, alone=alone, seconds=left).named("passed")


def _refused(runner: SuiteRunner, tests: set[str], end: float) -> set[str]:
    """Return the tests that do not pass as in an episode; those for which a run is worth nothing are looked for."""
    left = end - time.monotonic()
    if left <= 0:
        return tests
    run = runner.verify(tests, left)
    if not run.wrong:
        return {test for test in tests if not run.passed(test)}
    if len(tests) == 1:
        return tests
    ordered = sorted(tests)
    first, second = set(ordered[::2]), set(ordered[1::2])
    found = _refused(runner, first, end) | _refused(runner, second, end)
    return found or second  # the two together are worth nothing


def _parts(tests: Collection[str], count: int, generator: random.Random) -> Iterator[set[str]]:
    """Yield the parts of tests, drawn by chance, that are not empty."""
    drawn = sorted(tests)
    generator.shuffle(drawn)
    for number in range(count):
        part = set(drawn[number::count])
        if part:
            yield part
