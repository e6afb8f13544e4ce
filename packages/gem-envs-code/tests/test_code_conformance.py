"""The conformance kit on the environments of this package."""

from __future__ import annotations

from pathlib import Path

import pytest

import gem
from gem_testing import EnvConformance

QUESTIONS = str(Path(__file__).with_name("questions") / "train.jsonl")


@pytest.mark.slow
class TestConformance(EnvConformance):
    """The bundled problems, with two tests of each, keep the clauses that running programs can break.

    Each clause runs dozens of programs; the others run at night, and with all tests.
    """

    environments = gem.spec("code:Mini-v0").with_kwargs({"max_tests": 2})
    clauses = (
        *("contract.construction", "contract.reset", "contract.step", "contract.ends", "determinism.instances"),
        *("determinism.threads", "hostile.long_text", "manifest", "residue", "reward.reference", "reward.garbage"),
        *("state.pickle",),
    )


@pytest.mark.nightly
class TestOtherClauses(EnvConformance):
    """It keeps all of them."""

    environments = gem.spec("code:Mini-v0").with_kwargs({"max_tests": 2})


@pytest.mark.nightly
class TestConformanceOfOthers(EnvConformance):
    """So do their variants, and a published id on a file, whose class is the base of the one above."""

    environments = (
        *(gem.spec(f"code:Mini-v0{variant}").with_kwargs({"max_tests": 2}) for variant in ("-hard", "-test")),
        gem.spec("code:CodeContest").with_kwargs({"dataset": QUESTIONS}),
    )


@pytest.mark.nightly
class TestMiniConformance(EnvConformance):
    """Every variant of the bundled problems keeps the contract with all of their tests."""

    environments = "code:Mini-v0"
