"""The conformance kit on the environments of this package."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator

import pytest

import gem
from gem_envs_lab.scienceworld import simulator
from gem_testing import EnvConformance


@pytest.fixture(scope="module", autouse=True)
def _no_process_left() -> Iterator[None]:
    """End the simulators that wait for a next environment."""
    yield
    while simulator._idle:
        simulator._idle.pop().close()


class TestConformance(EnvConformance):
    """One small world keeps the contract."""

    environments = ("lab:Growth-v0-easy",)


@pytest.mark.nightly
class TestEveryVariant(EnvConformance):
    """Every variant keeps the contract."""

    environments = "lab"
    without = ("java",)


@pytest.mark.nightly
@pytest.mark.skipif(
    importlib.util.find_spec("scienceworld") is None or shutil.which("java") is None,
    reason="ScienceWorld needs Java and the package scienceworld",
)
class TestScienceWorld(EnvConformance):
    """A task of ScienceWorld keeps the contract in full, but for what the manifest exempts with its reasons."""

    environments = (gem.spec("lab:ScienceWorld-v0-easy").with_kwargs({"task": "4-1", "max_turns": 25}),)
