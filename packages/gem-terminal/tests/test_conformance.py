"""The conformance kit on a bundled task, in containers of the engine that starts them quickest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gem.testing import EnvConformance
from gem_terminal.engines import Engine


@pytest.fixture(scope="class", autouse=True)
def _engine_of_the_kit(engine_or_skip: Callable[[str], Engine], cache: Path) -> Iterator[None]:
    engine_or_skip("namespace").close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEM_TERMINAL_ENGINE", "namespace")
        patch.setenv("XDG_CACHE_HOME", str(cache.parents[1]))
        yield


@pytest.mark.slow
class TestConformance(EnvConformance):
    environments = "terminal:SalesReport-v0"
