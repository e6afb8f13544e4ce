"""The conformance kit on the environments of this package."""

from __future__ import annotations

from pathlib import Path

import pytest

import gem
from gem_testing import EnvConformance

QUESTIONS = str(Path(__file__).with_name("questions") / "train.jsonl")
GENERATED = tuple(f"math:{name}-v0" for name in ("Arithmetic", "WordProblems", "Algebra", "Geometry", "GeometryText"))


class TestConformance(EnvConformance):
    """Every generated set, and a published data set from a file, keep the contract."""

    environments = (*map(gem.spec, GENERATED), gem.spec("math:GSM8K").with_kwargs({"dataset": QUESTIONS}))


@pytest.mark.nightly
class TestVariantConformance(EnvConformance):
    """Every level and split of every generated set keeps the contract."""

    environments = GENERATED
