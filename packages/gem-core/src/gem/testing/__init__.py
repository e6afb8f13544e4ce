"""The conformance kit: is an environment what :mod:`gem.core` says that environments are?

::

    from gem.testing import Subject, run_clauses

    for result in run_clauses(Subject("game:Sudoku-v0-easy")):
        print(result.clause, result.outcome.value, result.message)

``gem check ID`` does the same at the command line, :class:`EnvConformance` in a test class. Each clause is a function
in :mod:`gem.testing.clauses`.
"""

from gem.lazy import loaded_on_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gem.testing.agents import (
        FaultyPolicy,
        FunctionPolicy,
        GarbagePolicy,
        NullPolicy,
        RepeatPolicy,
        ReplayPolicy,
    )
    from gem.testing.clauses import CLAUSES
    from gem.testing.conformance import EnvConformance
    from gem.testing.golden import Golden, assert_golden
    from gem.testing.outcome import Clause, NotTested, Outcome, Result, Violation
    from gem.testing.runner import run_clause, run_clauses
    from gem.testing.subject import Subject

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
    "CLAUSES": "gem.testing.clauses",
    "Clause": "gem.testing.outcome",
    "EnvConformance": "gem.testing.conformance",
    "FaultyPolicy": "gem.testing.agents",
    "FunctionPolicy": "gem.testing.agents",
    "GarbagePolicy": "gem.testing.agents",
    "Golden": "gem.testing.golden",
    "NotTested": "gem.testing.outcome",
    "NullPolicy": "gem.testing.agents",
    "Outcome": "gem.testing.outcome",
    "RepeatPolicy": "gem.testing.agents",
    "ReplayPolicy": "gem.testing.agents",
    "Result": "gem.testing.outcome",
    "Subject": "gem.testing.subject",
    "Violation": "gem.testing.outcome",
    "assert_golden": "gem.testing.golden",
    "run_clause": "gem.testing.runner",
    "run_clauses": "gem.testing.runner",
}

__getattr__, __dir__ = loaded_on_use(globals(), _HOMES)
