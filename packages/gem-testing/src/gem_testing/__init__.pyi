from gem_testing.agents import FaultyPolicy as FaultyPolicy
from gem_testing.agents import FunctionPolicy as FunctionPolicy
from gem_testing.agents import GarbagePolicy as GarbagePolicy
from gem_testing.agents import NullPolicy as NullPolicy
from gem_testing.agents import RepeatPolicy as RepeatPolicy
from gem_testing.agents import ReplayPolicy as ReplayPolicy
from gem_testing.clause import Clause as Clause
from gem_testing.clauses import CLAUSES as CLAUSES
from gem_testing.conformance import EnvConformance as EnvConformance
from gem_testing.env_under_test import EnvUnderTest as EnvUnderTest
from gem_testing.golden import Golden as Golden
from gem_testing.golden import assert_golden as assert_golden
from gem_testing.outcomes import ClauseOutcome as ClauseOutcome
from gem_testing.outcomes import ClauseResult as ClauseResult
from gem_testing.outcomes import NotTested as NotTested
from gem_testing.outcomes import Violation as Violation
from gem_testing.runner import run_clause as run_clause
from gem_testing.runner import run_clauses as run_clauses

__version__: str
