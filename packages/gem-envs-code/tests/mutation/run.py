"""The mutation run over every bundled problem: which mutants of the reference solutions pass all hidden tests?

``python packages/gem-envs-code/tests/mutation/run.py [--again | IDENTITY ...]`` writes ``passing.json`` beside this
file: the number of mutants, and those that pass; ``--again`` runs only those that passed before, and identities of
problems replace what the record has of these. ``--further`` runs the
mutants of ``further_mutants`` instead, and writes how many of each problem pass to ``passing_further.json``. A
mutant that passes is then tried on inputs that the hidden tests lack: those of other seeds, and neighbours of known
inputs. An input on which it answers wrongly may be a test that is missing; it is printed, to be read against the
statement and put into ``boundary_inputs.json`` of the problems.
"""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from further_mutants import further_mutants
from mutants import mutants
from neighbours import Neighbours

from gem_envs_code.compare import same_text, same_value
from gem_envs_code.problems import CodeProblem, all_problems

RECORD = Path(__file__).with_name("passing.json")
FURTHER_RECORD = Path(__file__).with_name("passing_further.json")
SEEDS, PROGRAM_SEEDS = range(1, 9), range(1, 21)
"""Of the inputs on which survivors are tried; more for programs, whose inputs are texts without neighbours."""
NEIGHBOURS = 250
LONGEST = 1500
"""Characters of an input that is tried."""
SECONDS = 0.7
"""CPU time for which a survivor is tried."""


class OverTimeError(Exception):
    """A call that takes far longer than the reference solution."""


def _stop(*_: object) -> None:
    raise OverTimeError


def outcome(function: Callable[..., Any], problem: CodeProblem, given: Any, seconds: float) -> str | None:
    """Return the output as the judge sees it; None for an exception or a call over its time."""
    arguments = (given,) if problem.is_program else json.loads(json.dumps(given))
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            made = function(*arguments)
        return str(made) if problem.is_program else json.dumps(made, default=repr)
    except (Exception, SystemExit):
        return None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def accepts(problem: CodeProblem, given: Any, expected: str, said: str | None) -> bool:
    """Return whether the judge accepts an output."""
    if said is None:
        return False
    if problem.check is None:
        return same_text(said, expected) if problem.is_program else same_value(said, expected)
    if problem.is_program:
        return bool(problem.check(given, said, expected))
    try:
        return bool(problem.check(json.loads(json.dumps(given)), json.loads(said), json.loads(expected)))
    except Exception:
        return False


def compiled(problem: CodeProblem, source: str) -> Callable[..., Any]:
    """Return the function of a source."""
    names: dict[str, Any] = {"__name__": "solution"}
    exec(compile(source, "mutant.py", "exec", dont_inherit=True), names)  # mutants of our own solutions
    function: Callable[..., Any] = names[problem.name]
    return function


def source_of(problem: CodeProblem) -> str:
    """Return the reference solution without the lines that read and print."""
    source = problem.solution()
    return source.rpartition("\nimport sys\n")[0] if problem.is_program else source


def mutants_of(problem: CodeProblem, further: bool) -> Iterator[tuple[str, str]]:
    """Yield the mutants of a problem's reference solution: the change in words, and the source."""
    reference = source_of(problem)
    return further_mutants(reference, problem.is_program) if further else mutants(reference)


def run_problem(
    problem: CodeProblem, only: frozenset[str] | None = None, search: bool = True, further: bool = False
) -> dict[str, Any]:
    """Return the mutants of a problem that pass every hidden test, and inputs that would tell them.

    Args:
        problem: the problem.
        only: the changes of the mutants to run, where it is known that the others fail.
        search: whether to look for inputs that tell those that pass.
        further: whether to take the further mutants.
    """
    changed = mutants_of(problem, further)
    inputs = [*problem.examples, *problem.inputs()]
    cases = []
    for given in inputs:
        start = time.process_time()
        expected = problem.case(given).output
        cases.append((given, expected, max(0.05, 10 * (time.process_time() - start))))
    cases.sort(key=lambda case: len(json.dumps(case[0])))  # short inputs refuse most mutants
    survivors = []
    count = 0
    for words, source in changed:
        count += 1
        if only is not None and words not in only:
            continue
        try:
            function = compiled(problem, source)
        except Exception:
            continue
        if all(
            accepts(problem, given, right, outcome(function, problem, given, limit)) for given, right, limit in cases
        ):
            survivors.append((words, source, function))
    found: list[Any] = []
    untold = []
    if survivors and search:
        extra = list(_further_inputs(problem))
        for words, source, function in survivors:
            end = time.process_time() + SECONDS
            told = next(
                (
                    given
                    for given, right in extra
                    if time.process_time() < end
                    and not accepts(problem, given, right, outcome(function, problem, given, 0.2))
                ),
                None,
            )
            if told is None:
                untold.append({"change": words, "source": source})
            else:
                found.append({"change": words, "input": told})
    return {
        "id": problem.id,
        "mutants": count,
        "survivors": [words for words, _, _ in survivors],
        "told": found,
        "untold": untold,
    }


def _further_inputs(problem: CodeProblem) -> Iterator[tuple[Any, str]]:
    """Yield inputs that the hidden tests lack, each with its right output, the short ones first."""
    drawn = [given for seed in (PROGRAM_SEEDS if problem.is_program else SEEDS) for given in problem.inputs(seed)]
    known = {json.dumps(given) for given in problem.inputs()}
    made = [given for given in drawn if len(json.dumps(given)) <= LONGEST]
    if not problem.is_program:
        made += list(Neighbours([*problem.examples, *problem.inputs(), *drawn], NEIGHBOURS, problem.id))
    unique = {key: given for given in made if (key := json.dumps(given)) not in known}
    for _, given in sorted(unique.items(), key=lambda item: len(item[0])):
        right = outcome(problem.solve, problem, given, 1.0)
        if right is None:
            continue
        if problem.second is not None:
            second = outcome(problem.second, problem, given, 1.0)
            same = second is not None and (same_text if problem.is_program else same_value)(second, right)
            if not same:
                continue  # an input that the statement does not allow
        yield given, right


def _limit() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])  # of what the parent has loaded
    most = pages * resource.getpagesize() + (2 << 30)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    sys.setrecursionlimit(3000)
    signal.signal(signal.SIGVTALRM, _stop)


def _child(place: int, only: frozenset[str] | None, search: bool, further: bool, connection: Any) -> None:
    _limit()
    connection.send(run_problem(all_problems()[place], only, search, further))


def run_all(
    places: list[int],
    only: dict[str, frozenset[str]] | None = None,
    search: bool = True,
    seconds: float = 300.0,
    further: bool = False,
) -> Iterator[dict[str, Any]]:
    """Yield the result of each problem, from a process of its own; without survivors where it ran out of time."""
    context = multiprocessing.get_context("fork")
    for place in places:
        ours, theirs = context.Pipe()
        known = None if only is None else only.get(all_problems()[place].id, frozenset())
        child = context.Process(target=_child, args=(place, known, search, further, theirs))
        child.start()
        theirs.close()
        try:
            if ours.poll(seconds):
                yield ours.recv()
            else:
                yield {"id": all_problems()[place].id, "unfinished": True}
        except EOFError:
            yield {"id": all_problems()[place].id, "unfinished": True}
        finally:
            child.kill()
            child.join()


def main() -> None:
    """Run all problems, or those that the command line names."""
    again, further = sys.argv[1:2] == ["--again"], sys.argv[1:2] == ["--further"]
    path = FURTHER_RECORD if further else RECORD
    known = json.loads(path.read_text("utf-8"))["passing"]
    named = set() if again else set(sys.argv[1 + further :])
    problems = all_problems()
    places = [place for place, problem in enumerate(problems) if not named or problem.id in named]
    only = {name: frozenset(changes) for name, changes in known.items()} if again else None
    results = []
    for result in run_all(places, only, further=further):
        results.append(result)
        if result.get("told") or result.get("unfinished"):
            print(json.dumps({key: value for key, value in result.items() if key != "untold"}), flush=True)
    passing = known  # of a problem that was not run to its end, too
    for result in results:
        if "survivors" in result:
            passing[result["id"]] = len(result["survivors"]) if further else result["survivors"]
    record = {
        "problems": len(problems),
        "mutants": sum(1 for problem in problems for _ in mutants_of(problem, further)),
        "passing": {problem.id: passing[problem.id] for problem in problems if passing.get(problem.id)},
    }
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    count = sum(result.get("mutants", 0) for result in results)
    print(
        len(results),
        "problems,",
        count,
        "mutants,",
        sum(len(result.get("survivors", ())) for result in results),
        "pass",
    )


if __name__ == "__main__":
    main()
