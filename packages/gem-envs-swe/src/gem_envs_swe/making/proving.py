"""Proofs that a change is a task: :func:`prove`.

A task is what the tests say three times, in different orders and with different hash seeds: the listed tests fail, and
the others pass. Its solution restores the package's own tree, byte for byte, so that its tests do what they did in the
baseline, which was measured three times as well, and in parts. What an episode earns for it is judged after that, by
:mod:`gem_envs_swe.making.episode_verdicts`.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gem_envs_swe.making.baseline import Baseline
from gem_envs_swe.making.candidates import Candidate
from gem_envs_swe.making.hidden_tests import cut_tests
from gem_envs_swe.making.patches import diff_of
from gem_envs_swe.making.suites import SuiteRun, SuiteRunner

__all__ = ["RejectedCandidate", "TaskProof", "prove"]

_PATIENCE = 300.0
"""Seconds by the clock that a run may take beside its tests: CPU time ends a loop, this ends what sleeps."""
_SAMPLE = 30
"""How many tests that do not run the change are run beside it at most."""
_SAMPLE_SECONDS = 0.5
"""How long they may take, by the clock of the baseline."""


class RejectedCandidate(Exception):  # noqa: N818  # the ordinary end of most candidates
    """A candidate is no task; the message is the reason, the same for all of its kind, so that it can be counted."""


@dataclass(frozen=True)
class TaskProof:
    """The proof of a task."""

    candidate: Candidate
    failing: tuple[str, ...]
    """FAIL_TO_PASS."""
    passing: tuple[str, ...]
    """PASS_TO_PASS."""
    groups: tuple[frozenset[str], ...]
    """The failing tests by the change that alone fails them."""
    run: SuiteRun
    """A run of the broken tree, with the failures."""
    break_patch: str
    patch: str
    test_patch: str
    visible: dict[str, str]
    """Path → text of the files of the agent's tree that differ from the package's own."""


def prove(
    candidate: Candidate, baseline: Baseline, runner: SuiteRunner, seed: int, *, whole: bool = False
) -> TaskProof:
    """Return the proof of a candidate.

    Args:
        candidate: the change.
        baseline: the package.
        runner: runs its tests.
        seed: of the orders of the tests, and of the sample.
        whole: whether every test is run on the broken tree, and not a sample of those that run no changed line.

    Raises:
        RejectedCandidate: if it is no task.
    """
    affected = baseline.covering(candidate.lines) - candidate.removed
    tests = affected | set(candidate.hidden_tests)
    if not tests:
        raise RejectedCandidate("no test runs the code")
    run = _run(candidate, runner, tests, baseline, 0, None)
    failing = run.named("failed")
    if not failing or not failing.issuperset(candidate.hidden_tests):
        raise RejectedCandidate("no test notices it")
    if len(failing) > max(60, len(baseline.stable) // 2):
        raise RejectedCandidate("it breaks most tests")
    if candidate.kind in ("refactor", "performance") and failing != set(candidate.hidden_tests):
        raise RejectedCandidate("it changes the behaviour")
    if candidate.idle is not None and _passes(replace(candidate, write=candidate.idle), runner, failing, baseline):
        raise RejectedCandidate("a function that does nothing passes for its solution")
    groups = _groups(candidate, runner, failing, baseline)
    rest = sorted(baseline.stable - affected - candidate.removed)
    if not whole:
        rest = _sample(rest, baseline, seed)
    second = _run(candidate, runner, tests | set(rest), baseline, 1, seed + 1)
    if second.named("failed") - tests:
        raise RejectedCandidate("a test that does not run the code fails")
    third = _run(candidate, runner, tests, baseline, 2, seed + 2)
    if not failing == second.named("failed") == third.named("failed"):
        raise RejectedCandidate("its tests are flaky")
    return _written(candidate, baseline, runner, run, groups)


def _passes(candidate: Candidate, runner: SuiteRunner, tests: set[str], baseline: Baseline) -> bool:
    try:
        return _run(candidate, runner, tests, baseline, 0, None).named("passed") == tests
    except RejectedCandidate:
        return False


def _groups(
    candidate: Candidate, runner: SuiteRunner, failing: set[str], baseline: Baseline
) -> tuple[frozenset[str], ...]:
    """Return, for each part of a change, the tests that it alone fails; all failing tests for a change of one part.

    Raises:
        RejectedCandidate: if a part alone fails no test that the others pass, so that nobody could tell of it.
    """
    if not candidate.parts:
        return (frozenset(failing),)
    alone: list[set[str]] = []
    for part in candidate.parts:
        failed = _run(replace(candidate, write=part), runner, failing, baseline, 0, None).named("failed")
        if not failed or failed == failing:  # then a part, this one or another, has no test of its own
            raise RejectedCandidate("one of its changes cannot be told from the other")
        alone.append(failed)
    groups = []
    for number, tests in enumerate(alone):
        others = set().union(*(alone[:number] + alone[number + 1 :]))
        groups.append(frozenset(tests - others))
    if not all(groups):
        raise RejectedCandidate("one of its changes cannot be told from the other")
    return tuple(groups)


def _run(
    candidate: Candidate, runner: SuiteRunner, tests: set[str], baseline: Baseline, hash_seed: int, order: int | None
) -> SuiteRun:
    files = {test.partition("::")[0] for test in tests}
    write = {**candidate.write, **candidate.hidden}
    run = runner.run(
        tests=tests, files=files, write=write, hash_seed=hash_seed, order=order,
        cpu_seconds=2.0 + 5.0 * baseline.seconds(tests), seconds=_PATIENCE + 10.0 * baseline.seconds(tests),
    )  # fmt: skip
    if not run.ended:
        raise RejectedCandidate("the tests do not end")
    if run.broken_files:
        raise RejectedCandidate("test files cannot be collected")
    if run.outcomes.keys() != tests or run.named("skipped"):
        raise RejectedCandidate("tests vanish or are skipped")
    return run


def _sample(tests: list[str], baseline: Baseline, seed: int) -> list[str]:
    """Return some tests, chosen by chance."""
    random.Random(seed).shuffle(tests)
    chosen, seconds = [], 0.0
    for test in tests[:_SAMPLE]:
        seconds += baseline.seconds([test])
        if seconds > _SAMPLE_SECONDS:
            break
        chosen.append(test)
    return chosen


def _written(
    candidate: Candidate, baseline: Baseline, runner: SuiteRunner, run: SuiteRun, groups: tuple[frozenset[str], ...]
) -> TaskProof:
    failing = run.named("failed")
    cut = cut_tests(baseline, failing - set(candidate.hidden_tests))
    if cut is None or not cut.keys().isdisjoint(candidate.write):
        raise RejectedCandidate("its tests cannot be taken out of their files")
    files = baseline.tree.files
    visible = {**candidate.write, **cut}
    solved = {path: files[path] for path in candidate.write} if candidate.solution is None else candidate.solution
    if candidate.hidden:
        own_tests = set(candidate.hidden_tests)
        if _run(replace(candidate, write=solved), runner, own_tests, baseline, 0, None).named("passed") != own_tests:
            raise RejectedCandidate("its hidden tests fail with the solution")
    break_patch = diff_of(_those(files, visible), visible)
    patch = diff_of(_those(candidate.write, solved), solved)
    test_patch = diff_of(cut, {**_those(files, cut), **candidate.hidden})
    final = {**visible, **solved, **_those(files, cut), **candidate.hidden}
    expected = [diff_of(_those(files, final), final)]
    digest = runner.applies(expected) if expected[0] else runner.own_digest
    if runner.applies([break_patch, test_patch, patch]) != digest:
        raise RejectedCandidate("its patches do not restore the tree")
    return TaskProof(
        candidate=candidate, failing=tuple(sorted(failing)),
        passing=tuple(sorted(baseline.stable - failing - candidate.removed)), groups=groups, run=run,
        break_patch=break_patch, patch=patch, test_patch=test_patch, visible=visible,
    )  # fmt: skip


def _those(files: Mapping[str, str], of: Mapping[str, str]) -> dict[str, str]:
    """Return the files that are among the paths of others."""
    return {path: files[path] for path in of if path in files}
