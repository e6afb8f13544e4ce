"""Mutants of the reference solutions: the hidden tests refuse every one that is not recorded as passing.

``mutation/run.py`` makes the record ``mutation/passing.json``; its figures and what is known of the mutants that pass
are in the package's README. ``mutation/passing_further.json`` counts those of the further mutants, and
``mutation/equivalent_further.json`` has a reason for each that changes a place within the program.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from gem_envs_code.problems import all_problems
from gem_envs_code.problems.problem import _boundary_inputs

FOLDER = Path(__file__).parent / "mutation"
RECORD = json.loads((FOLDER / "passing.json").read_text("utf-8"))
FURTHER_REASONS = json.loads((FOLDER / "equivalent_further.json").read_text("utf-8"))
FURTHER_RECORD = json.loads((FOLDER / "passing_further.json").read_text("utf-8"))
PLACES = {problem.id: place for place, problem in enumerate(all_problems())}
BY_DAY = ("majority", "span-sets-difference", "code-check-time")
"""Problems whose drawn tests a wrong program passed, with quick solutions."""
READ_BY_DAY = "code-check-colour"
"""A problem with quick solutions and further mutants of several reasons."""


@pytest.fixture(scope="module")
def run() -> Iterator[Any]:
    """The module of the run, which finds the others of its folder."""
    sys.path.insert(0, str(FOLDER))
    yield import_module("run")
    sys.path.remove(str(FOLDER))


def passing(run: Any, identities: list[str]) -> dict[str, list[str]]:
    """Run the mutants of some problems; return the changes of those that pass every hidden test."""
    results = run.run_all([PLACES[identity] for identity in identities], search=False)
    return {result["id"]: result.get("survivors", ["the run did not end"]) for result in results}


@pytest.mark.slow
def test_a_mutant_that_is_not_recorded_fails(run: Any) -> None:
    """In a few problems, by day."""
    for identity, survivors in passing(run, list(BY_DAY)).items():
        assert set(survivors) <= set(RECORD["passing"].get(identity, ()))


@pytest.mark.nightly
def test_every_mutant_that_is_not_recorded_fails(run: Any) -> None:
    """In all problems, at night."""
    new = {
        identity: sorted(set(survivors) - set(RECORD["passing"].get(identity, ())))
        for identity, survivors in passing(run, list(PLACES)).items()
    }
    assert {identity: changes for identity, changes in new.items() if changes} == {}


def further_passing(run: Any, identities: list[str]) -> dict[str, list[str]]:
    """Run the further mutants of some problems; return the changes of those that pass every hidden test."""
    results = run.run_all([PLACES[identity] for identity in identities], search=False, further=True)
    return {result["id"]: result["survivors"] for result in results}


def unread(identity: str, survivors: list[str]) -> list[str]:
    """Return the changes within a problem's program that pass without a reason, and reasons for none that passes.

    The other further mutants change an argument or have no answer for a kind of input.
    """
    within = Counter(change for change in survivors if change.startswith("line "))
    read = Counter(change for listed in FURTHER_REASONS.get(identity, {}).values() for change in listed)
    return sorted(((within - read) + (read - within)).elements())


def test_a_further_mutant_within_a_program_passes_only_with_a_reason(run: Any) -> None:
    """In one problem, by day."""
    assert {name: unread(name, found) for name, found in further_passing(run, [READ_BY_DAY]).items()} == {
        READ_BY_DAY: []
    }


@pytest.mark.nightly
def test_no_more_of_the_further_mutants_pass(run: Any) -> None:
    """Of no problem do more pass than are recorded, and those within the program are those that have a reason."""
    allowed = FURTHER_RECORD["passing"]
    found = further_passing(run, list(PLACES))
    assert {name: len(passed) for name, passed in found.items() if len(passed) > allowed.get(name, 0)} == {}
    assert {name: rest for name, passed in found.items() if (rest := unread(name, passed))} == {}


IGNORED = {
    "window-values-sum": "numbers with a number beyond 99: no answer",
    "line-values-row-max": "table of more than nine elements: no answer",
    "pack-bag-often": "things with a number beyond 99: no answer",
    "round-to-half-up": "unit beyond 99: no answer",
    "second-largest": "numbers with a number beyond 9: no answer",
    "shift-date-months": "n beyond 9: no answer",
}
"""Kinds of inputs that the statements allow and no hidden test had, by problem."""


@pytest.mark.parametrize("identity", IGNORED)
def test_a_program_that_ignores_a_kind_of_input_fails(run: Any, identity: str) -> None:
    """Where the statement allows it: larger numbers, longer lists."""
    problem = all_problems()[PLACES[identity]]
    named = dict(run.further_mutants(run.source_of(problem), problem.is_program))
    assert IGNORED[identity] in named
    function = run.compiled(problem, named[IGNORED[identity]])
    refused = (
        not run.accepts(problem, given, problem.case(given).output, run.outcome(function, problem, given, 1.0))
        for given in problem.inputs()
    )
    assert any(refused)


def test_the_boundary_inputs_are_needed(run: Any) -> None:
    """Without them, a wrong program passes: one in which the first number of a list leads from the beginning."""
    problem = all_problems()[PLACES["majority"]]
    function = run.compiled(problem, run.source_of(problem).replace("votes[0], 0", "votes[0], 1"))
    told = [
        given
        for given in problem.inputs()
        if not run.accepts(problem, given, problem.case(given).output, run.outcome(function, problem, given, 1.0))
    ]
    assert told == _boundary_inputs()["majority"]


def test_every_mutant_that_passes_was_read_and_has_its_reason() -> None:
    """``equivalent.json`` names, for each of them, why no input that the statement allows tells it from the solution.

    Several mutants of a problem may have the same words; as many have a reason as pass.
    """
    reasons = json.loads((FOLDER / "equivalent.json").read_text("utf-8"))
    for identity, changes in RECORD["passing"].items():
        read = [change.rpartition(" #")[0] for listed in reasons.get(identity, {}).values() for change in listed]
        assert not Counter(changes) - Counter(read), identity


def test_the_record_knows_the_problems() -> None:
    """And no boundary input is of a problem that is gone."""
    assert RECORD["problems"] == FURTHER_RECORD["problems"] == len(PLACES)
    assert {*RECORD["passing"], *FURTHER_RECORD["passing"], *FURTHER_REASONS, *_boundary_inputs()} <= set(PLACES)
