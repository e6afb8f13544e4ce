"""The conformance kit on the environments of this package."""

from __future__ import annotations

from pathlib import Path

import pytest

import gem
from gem_testing import EnvConformance

QUESTIONS = str(Path(__file__).with_name("questions") / "train.jsonl")


class TestConformance(EnvConformance):
    """Both classes keep the contract: with two tests of each bundled problem, and with a data set from a file."""

    environments = (
        gem.spec("code:Mini-v0").with_kwargs({"max_tests": 2}),
        gem.spec("code:CodeContest").with_kwargs({"dataset": QUESTIONS}),
    )


@pytest.mark.nightly
class TestFullConformance(EnvConformance):
    """The bundled problems and each of their variants keep the contract with all of their tests."""

    environments = "code:Mini-v0"
