"""The conformance kit on the environments of this package."""

from __future__ import annotations

from pathlib import Path

import pytest

import gem
from gem_testing import EnvConformance

QUESTIONS = str(Path(__file__).with_name("questions") / "train.jsonl")


class TestConformance(EnvConformance):
    """Both generated sets, one of them with few questions, and a published data set from a file keep the contract."""

    environments = (
        gem.spec("qa:Atlas-v0").with_kwargs({"size": 200, "per_kind": 100}),
        gem.spec("logic:RuleWorlds-v0"),
        gem.spec("qa:HotpotQA").with_kwargs({"dataset": QUESTIONS}),
    )


@pytest.mark.nightly
class TestVariantConformance(EnvConformance):
    """Every variant of both generated sets keeps the contract."""

    environments = ("qa:Atlas-v0", "logic:RuleWorlds-v0")
