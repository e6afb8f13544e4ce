"""The conformance kit on the environments of this package."""

from __future__ import annotations

from pathlib import Path

import pytest

import gem
from gem_testing import EnvConformance

QUESTIONS = str(Path(__file__).with_name("questions") / "train.jsonl")


class TestConformance(EnvConformance):
    """Both generated sets keep the contract, one of them with few questions, the other with short proofs."""

    environments = (gem.spec("qa:Atlas-v0").with_kwargs({"size": 200, "per_kind": 100}), "logic:RuleWorlds-v0-d1")


class TestDatasetConformance(EnvConformance):
    """A published id on a file keeps the clauses that the data and the grader can break."""

    environments = gem.spec("qa:HotpotQA").with_kwargs({"dataset": QUESTIONS})
    clauses = ("contract", "info", "state", "reward", "determinism.instances", "determinism.reuse")


@pytest.mark.nightly
class TestDatasetConformanceByNight(EnvConformance):
    """And all others."""

    environments = gem.spec("qa:HotpotQA").with_kwargs({"dataset": QUESTIONS})


@pytest.mark.nightly
class TestRuleWorldsConformance(EnvConformance):
    """Every variant of RuleWorlds keeps the contract."""

    environments = tuple(spec for spec in gem.registry.all_specs("logic") if spec.id.startswith("logic:RuleWorlds-v0"))


@pytest.mark.nightly
class TestAtlasConformance(EnvConformance):
    """Every variant of Atlas keeps the contract with all of its questions."""

    environments = tuple(spec for spec in gem.registry.all_specs("qa") if spec.id.startswith("qa:Atlas-v0"))
