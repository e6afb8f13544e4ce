"""The conformance kit does not cry wolf: every clause holds for environments that are as they should be."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator

import pytest
from planted_specs import MANIFEST, PLANTED, REQUIREMENTS

from gem.discovery.manifest import read_specs
from gem.entry_points import load
from gem_testing import CLAUSES, ClauseOutcome, EnvUnderTest, run_clauses

HEALTHY = {spec.id: spec for spec in read_specs(MANIFEST) if spec.id.startswith("healthy:")}

NOT_TESTED = {
    "healthy:Stateless": {
        "contract.random_action": "sample_random_action",
        "determinism.sampling": "sample_random_action",
        "state.json": "get_state and set_state",
        "state.complete": "get_state and set_state",
        "state.unaliased": "get_state and set_state",
        "state.refusal": "get_state and set_state",
    },
    "healthy:Overtime": {"contract.turn_limit": ""},
}
"""What cannot be tested on an environment, and what the advice on it names; an exemption needs no advice."""

HERE = [name for name, clause in CLAUSES.items() if not clause.processes]
"""The clauses that start no other processes, which play what all of them play."""


@pytest.fixture(autouse=True, scope="module")
def _planted() -> Iterator[None]:
    """The planted package can be imported, and is forgotten when the tests of this file are over."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PLANTED))
        yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(PLANTED)):
            del sys.modules[name]


def under_test(name: str) -> EnvUnderTest:
    return EnvUnderTest(
        HEALTHY[name],
        manifest=MANIFEST,
        namespaces=frozenset({"healthy", "defect"}),
        requirements=REQUIREMENTS[MANIFEST],
    )


IN_PROCESSES = ("healthy:Sums", "healthy:Circles", "healthy:Stateless", "healthy:Calculator", "healthy:Orders")
"""An environment of each kind: of texts, of pictures, without a state, with a tool, of several agents."""
NIGHT = pytest.mark.nightly


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("name", "clauses"),
    [
        *(pytest.param(name, CLAUSES, id=name, marks=[] if name in IN_PROCESSES else NIGHT) for name in HEALTHY),
        *(
            pytest.param(name, HERE, id=f"{name} here", marks=pytest.mark.slow if name == "healthy:Patient" else [])
            for name in HEALTHY
            if name not in IN_PROCESSES
        ),
    ],
)
def test_every_clause_holds_for_a_healthy_environment(name: str, clauses: Collection[str]) -> None:
    """Nothing is violated, and what cannot be tested is exactly what is expected, with advice that helps."""
    results = list(run_clauses(under_test(name), clauses))
    assert [result.clause for result in results] == list(clauses)
    assert [(r.clause, r.message) for r in results if r.outcome is ClauseOutcome.VIOLATED] == []
    untested = {result.clause: result for result in results if result.outcome is ClauseOutcome.NOT_TESTED}
    expected = NOT_TESTED.get(name, {})
    assert untested.keys() == expected.keys()
    for clause, result in untested.items():
        assert expected[clause] in result.advice


def test_an_exemption_shows_the_reason_of_the_manifest() -> None:
    """A clause that the manifest exempts from is not tested, and the reason is reported."""
    (result,) = run_clauses(under_test("healthy:Overtime"), ["contract.turn_limit"])
    assert result.outcome is ClauseOutcome.NOT_TESTED
    assert result.exempt
    assert result.message == HEALTHY["healthy:Overtime"].exempt["contract.turn_limit"]


def test_what_is_exempt_would_be_violated() -> None:
    """The exemption is needed: without it the clause finds what the manifest admits."""
    admitted = under_test("healthy:Overtime")
    (result,) = run_clauses(
        EnvUnderTest(load(admitted.spec.entry_point), reference_policy=admitted.spec.reference_policy),
        ["contract.turn_limit"],
    )
    assert result.outcome is ClauseOutcome.VIOLATED


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_environment_is_described_by_its_docstring(name: str) -> None:
    """The manifest says what the class says."""
    spec = HEALTHY[name]
    assert spec.description == " ".join(str(load(spec.entry_point).__doc__).partition("\n\n")[0].split())
