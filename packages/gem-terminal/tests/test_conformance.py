"""The conformance kit on a bundled task, in containers of the engine that starts them quickest."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gem_terminal.engines import Engine
from gem_testing import EnvConformance


@pytest.fixture(scope="class", autouse=True)
def _engine_of_the_kit(engine_or_skip: Callable[[str], Engine]) -> None:
    engine_or_skip("namespace").close()


@pytest.mark.slow
class TestConformance(EnvConformance):
    environments = "terminal:SalesReport-v0"
