"""Tests that depend on which others run are in no list of a task."""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, cast

import pytest
from local_suites import LocalSuites

from gem_envs_swe.making.dependent_tests import dependent_tests
from gem_envs_swe.making.suites import SuiteRun, SuiteRunner
from gem_envs_swe.verdicts.test_runs import TestRun
from gem_terminal.engines import Engine

Rule = Callable[[str, frozenset[str]], bool]
TESTS = [f"tests/test_{file}.py::test_{number}" for file in "abcd" for number in range(10)]
NEEDY, GIVER, HEALER = TESTS[3], TESTS[14], TESTS[25]
DEPENDS = "depends on other tests"
LEAVES_A_FILE = """
import shutil
import tempfile
from pathlib import Path


def test_first():
    for folder in {Path.cwd(), Path(tempfile.gettempdir()), Path.home()}:
        assert not (folder / "left").exists()
        (folder / "left").write_text("x")


def test_second():
    test_first()


def test_third():
    assert (Path.cwd() / "left").exists()


def test_ends_its_process():
    import os

    os._exit(0)
"""


class RuledSuite(SuiteRunner):
    """A suite whose tests pass by a rule, of a test and those that run with it."""

    def __init__(self, passes: Rule, accepted: Rule | None = None, tampers: Collection[str] = ()) -> None:
        super().__init__(cast(Engine, None), "", cast(Any, None))
        self.passes, self.accepted, self.tampers = passes, accepted or passes, set(tampers)
        self.alone: set[str] = set()
        self.verified: list[frozenset[str]] = []

    def run(self, *, tests: Collection[str] | None = None, alone: bool = False, **_: Any) -> SuiteRun:
        """Run tests; alone, each without the others."""
        together = frozenset(tests or ())
        self.alone |= together if alone else set()
        passed = {test: self.passes(test, frozenset({test}) if alone else together) for test in together}
        return SuiteRun(outcomes={test: "passed" if each else "failed" for test, each in passed.items()})

    def verify(self, tests: Collection[str], seconds: float) -> TestRun:
        """Run tests; one that tampers makes the run worth nothing."""
        assert seconds > 0
        together = frozenset(tests)
        self.verified.append(together)
        if together & self.tampers:
            return TestRun(wrong="builtins.open was replaced")
        return TestRun({test: "passed" if self.accepted(test, together) else "failed" for test in together})


def found(suite: RuledSuite, seed: int = 0, seconds: float = 60.0, tests: Collection[str] = TESTS) -> dict[str, str]:
    """Return the dependent tests of a suite, and why they are."""
    return dependent_tests(tests, suite, random.Random(seed), seconds)


def test_a_suite_of_independent_tests_has_none() -> None:
    """Each was run alone, and by the verdict's program."""
    suite = RuledSuite(lambda *_: True)
    assert found(suite) == {}
    assert suite.alone == set(TESTS) == set().union(*suite.verified)


def test_a_test_that_needs_another_is_found() -> None:
    """It passes in the whole suite, and in each part that has the other one."""
    assert found(RuledSuite(lambda test, others: test != NEEDY or GIVER in others)) == {NEEDY: DEPENDS}


def test_a_test_that_needs_an_absence_is_found() -> None:
    """It passes alone and in the whole suite, and fails where a test runs whose trace another one takes away."""
    suite = RuledSuite(lambda test, others: test != NEEDY or GIVER not in others or HEALER in others)
    assert {NEEDY: DEPENDS} in [found(suite, seed) for seed in range(5)]


def test_what_the_verdict_does_not_accept_is_found() -> None:
    """It fails there, or makes the run worth nothing, in which case the tests that ran with it stay."""
    suite = RuledSuite(lambda *_: True, lambda test, _: test != NEEDY, [GIVER])
    assert found(suite) == dict.fromkeys((NEEDY, GIVER), "does not pass in a verdict")


def test_many_tests_are_verified_in_a_few_parts() -> None:
    """A suite of 10,000 tests takes eight verdicts, one of 120 takes three."""
    for count, parts in ((10_000, 8), (120, 3), (1, 1), (0, 0)):
        suite = RuledSuite(lambda *_: True)
        tests = [f"test_a.py::test_{number}" for number in range(count)]
        assert found(suite, tests=tests) == {}
        assert len(suite.verified) == parts


def test_what_is_not_proved_in_time_counts_as_dependent() -> None:
    """Nothing is taken for granted."""
    assert found(RuledSuite(lambda *_: True), seconds=0.0) == dict.fromkeys(TESTS, DEPENDS)


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("git") is None, reason="git applies the patches of the suites here")
@pytest.mark.skipif(sys.platform != "linux", reason="the program of the containers needs Linux")
def test_a_test_alone_finds_the_tree_as_it_was(tmp_path: Path) -> None:
    """Neither the tree nor the folders for scratch and home have what another test left."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "test_left.py").write_text(LEAVES_A_FILE)
    names = ("first", "second", "third", "ends_its_process")
    tests = {f"test_left.py::test_{name}" for name in names}
    with LocalSuites(tmp_path / "tree", tmp_path / "runs") as runner:
        outcomes = runner.run(tests=tests, files={"test_left.py"}, alone=True).outcomes
    passed = ["passed", "passed", "failed", "failed"]
    assert outcomes == {f"test_left.py::test_{name}": each for name, each in zip(names, passed, strict=True)}
