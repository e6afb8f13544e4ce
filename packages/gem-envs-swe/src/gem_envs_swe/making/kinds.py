"""The kinds of tasks that can be made: :data:`MAKERS`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from gem_envs_swe.making.api_changes import api_changes
from gem_envs_swe.making.baseline import Baseline
from gem_envs_swe.making.candidates import Candidate
from gem_envs_swe.making.duplicates import copied_functions
from gem_envs_swe.making.performance import slow_functions
from gem_envs_swe.making.single_changes import bugs, features, regressions
from gem_envs_swe.making.unwritten_tests import unwritten_tests

__all__ = ["MAKERS"]

MAKERS: dict[str, Callable[[Baseline, random.Random], Iterator[Candidate]]] = {
    "bug": bugs,
    "feature": features,
    "refactor": copied_functions,
    "regression": regressions,
    "api-change": api_changes,
    "performance": slow_functions,
    "tests": unwritten_tests,
}
"""Kind → what returns its candidates, in an order that the generator decides."""
