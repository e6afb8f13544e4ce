"""The conformance kit on the environments of this package."""

from __future__ import annotations

from pathlib import Path

import pytest

import gem
from gem_testing import EnvConformance

QUESTIONS = str(Path(__file__).with_name("questions") / "train.jsonl")
SETS = ("Arithmetic", "WordProblems", "Algebra", "Geometry", "GeometryText")


@pytest.mark.sampled(70)
class TestConformance(EnvConformance):
    """Every generated set keeps the contract, and so do two variants: a level, and the other split."""

    environments = (*(f"math:{name}-v0" for name in SETS), "math:Arithmetic-v0-hard", "math:WordProblems-v0-test")


@pytest.mark.nightly
class TestConformanceByNight(EnvConformance):
    """So does every set at every level."""

    environments = "gem-envs-math"
    without = ("dataset",)


class TestDatasetConformance(EnvConformance):
    """A published id keeps, on a file in the published schema, the clauses that the data and the grader can break."""

    environments = gem.spec("math:GSM8K").with_kwargs({"dataset": QUESTIONS})
    clauses = ("contract", "info", "state", "reward", "determinism.instances", "determinism.reuse")


@pytest.mark.nightly
class TestDatasetConformanceByNight(EnvConformance):
    """And all others."""

    environments = gem.spec("math:GSM8K").with_kwargs({"dataset": QUESTIONS})
