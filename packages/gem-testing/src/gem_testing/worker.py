"""The process in which one environment is checked; :mod:`gem_testing.pool` starts it and listens.

It gets a job as JSON on stdin and reports on its original stdout. Before it imports the environment,
that descriptor moves to a high number and the standard ones lead nowhere, so that no output, input or closed standard
descriptor of an environment reaches the reports. Each report is a line that begins
with a word that only parent and worker know; everything else that arrives is ignored.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gem_testing.env_under_test import EnvUnderTest

__all__ = [
    "ATTACKS",
    "BEGINNINGS",
    "CHANNEL_LOST",
    "FIRST_EPISODE",
    "IMPORT",
    "SCORES",
    "SPEED",
    "main",
    "needs_environment",
]

IMPORT, FIRST_EPISODE, SCORES, SPEED, ATTACKS = "import", "first episode", "scores", "speed", "attacks"
"""The announced names of a worker's tasks besides clauses."""

BEGINNINGS = ("contract.construction", "contract.reset")
"""The clauses that explain why no other can play."""

CHANNEL_LOST = 117
"""Exit code of a worker that can no longer report."""

_STANDARD = ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY))
_HIGH = 900
_LONGEST_MESSAGE = 2000


def main() -> None:
    """Do the job on stdin, and report."""
    channel_number = _moved_up(1)
    stack_number = _moved_up(2)
    job = json.loads(sys.stdin.buffer.read())
    for number, flags in _STANDARD:
        _lead_nowhere(number, flags)
    faulthandler.enable(stack_number)
    _be_killed_first()
    sys.argv[:] = ["gem"]
    channel = _Channel(channel_number, job["token"])
    channel.tell("begin", "start")
    _work(job, channel)
    channel.tell("done")
    os._exit(0)  # an environment may have left threads, or handlers for the end, that never finish


def needs_environment(task: str) -> bool:
    """Return whether a task is pointless where the environment cannot be imported."""
    from gem_testing.clauses import CLAUSES

    return task not in CLAUSES or CLAUSES[task].plays or task in BEGINNINGS


def _work(job: dict[str, Any], channel: _Channel) -> None:
    from gem.entry_points import load
    from gem.env_spec import EnvSpec
    from gem_testing.clauses import CLAUSES
    from gem_testing.env_under_test import EnvUnderTest

    spec = EnvSpec.from_dict(job["spec"])
    manifest = None if job["manifest"] is None else Path(job["manifest"])
    namespaces = None if job["namespaces"] is None else frozenset(job["namespaces"])
    requirements = None if job["requirements"] is None else tuple(job["requirements"])
    under_test = EnvUnderTest(spec, manifest=manifest, namespaces=namespaces, requirements=requirements)
    tasks: list[str] = job["tasks"]
    initial_state = _InitialState(job["folder"])
    if any(map(needs_environment, tasks)):
        channel.tell("begin", IMPORT)
        with suppress(BaseException):  # contract.construction and manifest.entry_points report the fault
            load(spec.entry_point)
    begun = False
    for task in tasks:
        initial_state.restore()
        if not begun and (task not in CLAUSES or CLAUSES[task].plays):
            channel.tell("begin", FIRST_EPISODE)
            begun = True
            _ = under_test.obstacle  # all that play need it; here a death's cause is known
        channel.tell("begin", task)
        if task in CLAUSES:
            channel.tell("result", _checked(under_test, task))
        else:
            channel.tell("figures", _figures(task, spec, job))


def _checked(under_test: EnvUnderTest, clause: str) -> dict[str, Any]:
    from gem_testing.clauses import CLAUSES
    from gem_testing.runner import run_clause

    try:
        result = run_clause(under_test, CLAUSES[clause])
    except BaseException as error:  # SystemExit and KeyboardInterrupt, which no clause catches
        reason = f"{type(error).__name__}({error}) was raised in this clause; an environment must not end the process"
        return {"clause": clause, "outcome": "violated", "message": _sentence(reason)}
    return {
        "clause": clause,
        "outcome": result.outcome.value,
        "message": _sentence(result.message),
        "advice": _sentence(result.advice),
        "exempt": result.exempt,
    }


def _figures(task: str, spec: Any, job: dict[str, Any]) -> dict[str, Any]:
    from dataclasses import asdict

    try:
        if task == SCORES:
            from gem_testing.scores import scores_of

            return {"value": {agent: asdict(score) for agent, score in scores_of(spec).items()}}
        if task == ATTACKS:
            from gem_testing.attacks import audit

            return {"value": asdict(audit(spec, seconds=job["attack_seconds"]))}
        from gem_rollout.speed import measure

        return {"value": asdict(measure(spec, seconds=job["speed_seconds"], seed=0))}
    except BaseException as error:
        return {"error": _sentence(f"{type(error).__name__}: {error}")}


def _sentence(text: str) -> str:
    """Return text that fits into a report: of limited length, without lone surrogates, which no file can hold."""
    return text[:_LONGEST_MESSAGE].encode("utf-8", "backslashreplace").decode("utf-8")


class _Channel:
    """Writes reports. A worker that cannot report ends, and its parent notices."""

    def __init__(self, number: int, token: str) -> None:
        self._number = number
        self._stat = os.fstat(number)
        self._token = token
        self._process = os.getpid()

    def tell(self, kind: str, value: Any = None) -> None:
        if os.getpid() != self._process:
            os._exit(0)  # a forked child that an environment left running
        # The newline in front ends foreign text in the pipe.
        text = json.dumps([kind, value], allow_nan=True).encode("ascii")
        rest = memoryview(b"\n" + self._token.encode() + text + b"\n")
        try:
            if not os.path.samestat(os.fstat(self._number), self._stat):
                os._exit(CHANNEL_LOST)  # closed, and the number now belongs to a file of the environment
            os.set_blocking(self._number, True)
            while rest:
                rest = rest[os.write(self._number, rest) :]
        except OSError:
            os._exit(CHANNEL_LOST)


def _moved_up(number: int) -> int:
    """Return a high number for an open descriptor, beyond the few hundred that an environment may close."""
    try:
        import fcntl
        import resource
    except ImportError:  # Windows
        return os.dup(number)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    lowest = _HIGH if limit == resource.RLIM_INFINITY else max(3, min(_HIGH, limit - 16))
    return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, lowest)


def _lead_nowhere(number: int, flags: int) -> None:
    nowhere = os.open(os.devnull, flags)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)


class _InitialState:
    """The initial state of the process, so that the effects of one clause are not blamed on the next."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._path = list(sys.path)
        self._variables = dict(os.environ)

    def restore(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        os.chdir(self._folder)
        sys.path[:] = self._path
        if dict(os.environ) != self._variables:
            os.environ.clear()
            os.environ.update(self._variables)
        for number, flags in _STANDARD:
            try:
                os.fstat(number)
            except OSError:
                _lead_nowhere(number, flags)


def _be_killed_first() -> None:
    """Ask Linux to end this process, and not its parent, when memory runs out."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
