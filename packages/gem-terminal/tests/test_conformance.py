"""The conformance kit on a bundled task, in containers of the engine that starts them quickest."""

from __future__ import annotations

from dataclasses import replace

import pytest

import gem
from gem_testing import EnvConformance

TASK = gem.spec("terminal:SalesReport-v0")
SHORT = replace(TASK, kwargs={**TASK.kwargs, "max_turns": 4})
"""The same task in episodes of four turns: the clauses play hundreds of commands, not thousands."""
SHORTEST = replace(TASK, kwargs={**TASK.kwargs, "max_turns": 2})
"""In two turns, in which the reference solves it."""


@pytest.mark.slow(reason="the first clause builds the image of the task")
@pytest.mark.usefixtures("engine_variables")
class TestConformance(EnvConformance):
    """One clause of each group; all of them by night, since every clause plays episodes of its own."""

    environments = SHORTEST
    clauses = ("contract.flags", "contract.reset", "determinism.reuse", "hostile", "info.json", "reward.reference")


@pytest.mark.nightly
@pytest.mark.usefixtures("engine_variables")
class TestConformanceOfShortEpisodes(EnvConformance):
    environments = SHORT


@pytest.mark.nightly
@pytest.mark.usefixtures("engine_variables")
class TestConformanceOfLongEpisodes(EnvConformance):
    environments = TASK.id
