"""The conformance kit: tests whether an environment keeps the contract of :mod:`gem.core`.

::

    from gem_testing import EnvUnderTest, run_clauses

    for result in run_clauses(EnvUnderTest("game:Sudoku-v0-easy")):
        print(result.clause, result.outcome.value, result.message)

``gem check ID`` does the same at the command line, :class:`EnvConformance` in a test class. Each clause is a function
in :mod:`gem_testing.clauses`.
"""

from gem.lazy import loaded_on_use

__version__ = "0.1.0"

__getattr__, __dir__ = loaded_on_use(globals())
