"""Each planted defect is caught by the clause that names it, and by hardly any other.

The environments are in ``planted/``; ``defects.toml`` says which clause has to name the defect, and in which words.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from planted_specs import PLANTED, REQUIREMENTS, SAYS, planted_specs

from gem.discovery.manifest import read_specs
from gem.entry_points import load
from gem.env_spec import EnvSpec
from gem.errors import ManifestError
from gem_testing import CLAUSES, ClauseOutcome, EnvUnderTest, run_clauses

DEFECTS = {
    spec.id.partition(":")[2]: (spec, manifest)
    for spec, manifest in planted_specs()
    if not spec.id.startswith("healthy:")
}

MISSPELT = PLANTED / "planted_misspelt" / "environments.toml"

# One manifest declares nearly all of these, so that reading it again for each would find nothing new.
IN_PROCESS = [clause.name for clause in CLAUSES.values() if not clause.processes and clause.name != "manifest.schema"]


REWARDS = {"reward.garbage", "reward.null", "reward.reference"}
BESIDE_OTHERS = {
    "contract.spawn",
    "determinism.interleaving",
    "determinism.threads",
    "state.complete",
    "state.pickle",
}

ALSO: dict[str, set[str]] = {
    "NoSuchModule": {"contract.construction"},
    "NoEnvironment": {"contract.construction"},
    "RefusesToAbandon": {"hostile.actions", "determinism.reuse"},
    "NamesNoPicture": {"hostile.actions"},
    "ReturnsFour": {"contract.ends", "contract.turn_limit", "determinism.unseeded", *REWARDS},
    "PaysNothingAtAll": {"reward.range"},
    "PaysInts": {"hostile.actions"},
    "PaysNumpy": {"hostile.actions"},
    # What each agent got is in the state, and the return of whoever plays is infinite.
    "PaysAnnNothing": {"state.json", "state.complete", "reward.range", *REWARDS},
    "FlagsAreNumpy": {"hostile.actions"},
    "FlagsAreInts": {"hostile.actions"},
    "SamplesAnything": {"determinism.global_generators", "state.complete", "state.pickle"},
    "SpawnShares": {"state.complete"},
    "SpawnSharesList": {"state.complete"},
    "SpawnForgets": {"state.complete"},
    # What each agent was told is in the state.
    "InfoKeyedByInts": {"state.json", "state.complete", "state.refusal"},
    "LateChance": {"determinism.unseeded"},
    "DropsSeed": {"determinism.unseeded"},
    "TellsTime": {"determinism.unseeded"},
    "ShufflesDeck": {"determinism.unseeded"},
    "GetsHarder": {"state.complete"},
    "ThirdEpisode": {"determinism.reuse", "state.complete", "state.pickle"},
    "UnseededFromSystem": {"state.complete", "state.pickle"},
    # Spawned, restored and pickled instances play beside the first one.
    "ClassHoldsQuestion": BESIDE_OTHERS,
    "DrawsFromRandom": {"state.unaliased", *BESIDE_OTHERS},
    "DrawsFromNumpy": {"state.unaliased", *BESIDE_OTHERS},
    "SamplesFromRng": {"determinism.unseeded"},
    "StateHoldsTuple": {"state.complete", "state.refusal"},
    "StateHoldsGenerator": {"state.complete", "state.refusal"},
    "StateForgetsGenerator": {"state.unaliased"},
    # Whoever says nothing ends the process.
    "ExitsOnEmpty": {"contract.ends", "contract.turn_limit", "reward.range", "reward.null"},
    "PaysTooMuch": {"reward.reference"},
    "PaysSilence": {"reward.garbage"},
    "PaysAfterEnd": {"contract.after_end"},
}
"""Clauses that a defect may violate besides its own, because it does break what they promise as well."""


@pytest.fixture(autouse=True)
def _process_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The planted packages can be imported, and what the defects do to the process is undone."""
    monkeypatch.syspath_prepend(str(PLANTED))  # the end of the test puts back all of sys.path
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    environment, limit, handlers = dict(os.environ), sys.getrecursionlimit(), logging.root.handlers[:]
    yield
    os.environ.clear()
    os.environ.update(environment)
    sys.setrecursionlimit(limit)
    logging.root.handlers[:] = handlers
    if (residue := sys.modules.get("planted_envs.defects.residue")) is not None:
        residue.clean_up()


@pytest.fixture(autouse=True, scope="module")
def _modules_forgotten() -> Iterator[None]:
    """No planted module stays imported when the tests of this file are over."""
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(PLANTED)):
            del sys.modules[name]


def under_test(name: str) -> EnvUnderTest:
    spec, manifest = DEFECTS[name]
    namespaces = frozenset({"healthy", "defect"})
    return EnvUnderTest(spec, manifest=manifest, namespaces=namespaces, requirements=REQUIREMENTS[manifest])


IN_PROCESSES = {name for name, (spec, _) in DEFECTS.items() if CLAUSES[spec.tags[0]].processes}
"""Defects that show in other processes."""


@pytest.mark.sampled(46)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in IN_PROCESSES else []) for name in DEFECTS]
)
def test_a_planted_defect_is_caught_by_the_clause_that_names_it(name: str) -> None:
    """The clause is violated, and its message says where, with which value, and what to do."""
    (result,) = run_clauses(under_test(name), DEFECTS[name][0].tags)
    assert result.outcome is ClauseOutcome.VIOLATED, f"{result.clause} {result.outcome.value}: {result.message}"
    assert re.search(SAYS[name], result.message), result.message
    assert "\n" not in result.message


EXAMPLES = {CLAUSES[spec.tags[0]].name.partition(".")[0]: name for name, (spec, _) in reversed([*DEFECTS.items()])}
"""Group of clauses → its first planted defect."""
del EXAMPLES["speed"]  # a slow environment is slow in every clause


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in EXAMPLES.values() else pytest.mark.nightly) for name in DEFECTS]
)
def test_a_planted_defect_violates_hardly_any_other_clause(name: str) -> None:
    """One mistake is reported once, but where it does break several promises."""
    results = run_clauses(under_test(name), IN_PROCESS)
    violated = {result.clause: result.message for result in results if result.outcome is ClauseOutcome.VIOLATED}
    expected = {*DEFECTS[name][0].tags, *ALSO.get(name, ())}
    assert violated.keys() <= expected, {clause: violated[clause] for clause in violated.keys() - expected}


def test_a_manifest_with_a_misspelt_key_violates_the_clause_on_the_schema() -> None:
    """No spec can be read from it, so that the clause is asked about one that is made by hand."""
    with pytest.raises(ManifestError, match="reward_ranges"):
        read_specs(MISSPELT)
    spec = EnvSpec("defect:Misspelt", "planted_envs.healthy:Sums")
    (result,) = run_clauses(EnvUnderTest(spec, manifest=MISSPELT), ["manifest.schema"])
    assert result.outcome is ClauseOutcome.VIOLATED
    assert re.search(r"environment\[0\]\.reward_ranges", result.message), result.message


@pytest.mark.parametrize("clause", CLAUSES)
def test_a_clause_is_violated_by_a_planted_defect(clause: str) -> None:
    """No clause is there that nothing has shown to find anything."""
    assert any(spec.tags == (clause,) for spec, _ in DEFECTS.values())


def test_each_defect_is_a_class_of_its_own_that_says_what_is_wrong() -> None:
    """A manifest describes a defect with the docstring of its class, and two defects never share one."""
    lies = {"ExemptsFromNothing", "NoSuchModule"}  # about classes that are healthy, or are not there
    classes = {name: load(spec.entry_point) for name, (spec, _) in DEFECTS.items() if name not in lies}
    assert len(set(classes.values())) == len(classes) >= 45
    assert len({cls.__doc__ for cls in classes.values()}) == len(classes)
    for name, cls in classes.items():
        assert DEFECTS[name][0].description in ("", " ".join(str(cls.__doc__).split()))


def test_every_defect_has_a_message_that_is_expected() -> None:
    """The patterns are those of the defects there are."""
    assert SAYS.keys() == DEFECTS.keys()
    assert ALSO.keys() <= DEFECTS.keys()
