"""The conformance kit on the environments of this package."""

from __future__ import annotations

from pathlib import Path

import pytest

import gem
from gem_testing import EnvConformance

QUESTIONS = str(Path(__file__).with_name("questions") / "train.jsonl")


class TestConformance(EnvConformance):
    """Every generated set keeps the contract, at every level."""

    environments = "gem-envs-math"
    without = ("dataset",)


@pytest.mark.slow
class TestDatasetConformance(EnvConformance):
    """A published id keeps the contract on a file in the published schema."""

    environments = gem.spec("math:GSM8K").with_kwargs({"dataset": QUESTIONS})
