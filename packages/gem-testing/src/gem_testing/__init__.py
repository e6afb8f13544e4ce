"""The conformance kit: is an environment what :mod:`gem.core` says that environments are?

::

    from gem_testing import Subject, run_clauses

    for result in run_clauses(Subject("game:Sudoku-v0-easy")):
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
    from gem_testing.clauses import CLAUSES
    from gem_testing.conformance import EnvConformance
    from gem_testing.golden import Golden, assert_golden
    from gem_testing.outcome import Clause, NotTested, Outcome, Result, Violation
    from gem_testing.runner import run_clause, run_clauses
    from gem_testing.subject import Subject

__all__ = [
    "CLAUSES",
    "Clause",
    "EnvConformance",
    "FaultyPolicy",
    "FunctionPolicy",
    "GarbagePolicy",
    "Golden",
    "NotTested",
    "NullPolicy",
    "Outcome",
    "RepeatPolicy",
    "ReplayPolicy",
    "Result",
    "Subject",
    "Violation",
    "assert_golden",
    "run_clause",
    "run_clauses",
]

_HOMES = {
    "CLAUSES": "gem_testing.clauses",
    "Clause": "gem_testing.outcome",
    "EnvConformance": "gem_testing.conformance",
    "FaultyPolicy": "gem_testing.agents",
    "FunctionPolicy": "gem_testing.agents",
    "GarbagePolicy": "gem_testing.agents",
    "Golden": "gem_testing.golden",
    "NotTested": "gem_testing.outcome",
    "NullPolicy": "gem_testing.agents",
    "Outcome": "gem_testing.outcome",
    "RepeatPolicy": "gem_testing.agents",
    "ReplayPolicy": "gem_testing.agents",
    "Result": "gem_testing.outcome",
    "Subject": "gem_testing.subject",
    "Violation": "gem_testing.outcome",
    "assert_golden": "gem_testing.golden",
    "run_clause": "gem_testing.runner",
    "run_clauses": "gem_testing.runner",
}

__getattr__, __dir__ = loaded_on_use(globals(), _HOMES)
