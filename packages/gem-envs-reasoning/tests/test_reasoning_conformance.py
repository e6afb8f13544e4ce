"""The conformance kit on five data sets; ``gem check rg`` runs it on all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gem_envs_reasoning.scoring import WORKERS
from gem_testing import EnvConformance


@pytest.fixture(scope="module", autouse=True)
def _one_pool_for_all() -> Iterator[None]:
    """Keep the workers from clause to clause; otherwise each environment that is closed ends them."""
    with WORKERS.handle():
        yield


@pytest.mark.sampled(40)
class TestConformance(EnvConformance):
    """Scored in process: a number with a curriculum, and text over a set that is sorted; in the worker: a literal and
    arithmetic, both of which the library executes; and several data sets in one.
    """

    environments = ("rg:chain_sum", "rg:ransom_note", "rg:n_queens", "rg:countdown", "rg:composite")


@pytest.mark.nightly
class TestConformanceOfASlowOne(EnvConformance):
    """A data set whose items take a second, made with a library's own list of words."""

    environments = "rg:word_ladder"
