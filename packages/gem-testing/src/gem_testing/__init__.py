"""The conformance kit: is an environment what :mod:`gem.core` says that environments are?

::

    from gem_testing import EnvUnderTest, run_clauses

    for result in run_clauses(EnvUnderTest("game:Sudoku-v0-easy")):
        print(result.clause, result.outcome.value, result.message)

``gem check ID`` does the same at the command line, :class:`EnvConformance` in a test class. Each clause is a function
in :mod:`gem_testing.clauses`.
"""

from gem.lazy import loaded_on_use

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gem_testing.agents import (
        FaultyPolicy,
        FunctionPolicy,
        GarbagePolicy,
        NullPolicy,
        RepeatPolicy,
        ReplayPolicy,
    )
    from gem_testing.clause import Clause
    from gem_testing.clauses import CLAUSES
    from gem_testing.conformance import EnvConformance
    from gem_testing.env_under_test import EnvUnderTest
    from gem_testing.golden import Golden, assert_golden
    from gem_testing.outcomes import ClauseOutcome, ClauseResult, NotTested, Violation
    from gem_testing.runner import run_clause, run_clauses

__all__ = [
    "CLAUSES",
    "Clause",
    "ClauseOutcome",
    "ClauseResult",
    "EnvConformance",
    "EnvUnderTest",
    "FaultyPolicy",
    "FunctionPolicy",
    "GarbagePolicy",
    "Golden",
    "NotTested",
    "NullPolicy",
    "RepeatPolicy",
    "ReplayPolicy",
    "Violation",
    "assert_golden",
    "run_clause",
    "run_clauses",
]

_HOMES = {
    "CLAUSES": "gem_testing.clauses",
    "Clause": "gem_testing.clause",
    "EnvConformance": "gem_testing.conformance",
    "FaultyPolicy": "gem_testing.agents",
    "FunctionPolicy": "gem_testing.agents",
    "GarbagePolicy": "gem_testing.agents",
    "Golden": "gem_testing.golden",
    "NotTested": "gem_testing.outcomes",
    "NullPolicy": "gem_testing.agents",
    "ClauseOutcome": "gem_testing.outcomes",
    "RepeatPolicy": "gem_testing.agents",
    "ReplayPolicy": "gem_testing.agents",
    "ClauseResult": "gem_testing.outcomes",
    "EnvUnderTest": "gem_testing.env_under_test",
    "Violation": "gem_testing.outcomes",
    "assert_golden": "gem_testing.golden",
    "run_clause": "gem_testing.runner",
    "run_clauses": "gem_testing.runner",
}

__getattr__, __dir__ = loaded_on_use(globals(), _HOMES)
