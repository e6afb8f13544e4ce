"""Checking many environments at once, each in a process of its own.

A process that dies or hangs costs its environment the clause that it was in, and nothing else: the parent knows the
clause, because a worker announces each before it begins, and lets a new worker go on with the next.
"""

from __future__ import annotations

import json
import os
import queue
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from gem.entry_points import name_of
from gem.env_spec import EnvSpec
from gem_testing.outcomes import ClauseOutcome, ClauseResult
from gem_testing.worker import ATTACKS, BEGINNINGS, CHANNEL_LOST, IMPORT, SCORES, SPEED, needs_environment

__all__ = [
    "ATTACKS",
    "SCORES",
    "SPEED",
    "CheckJob",
    "ClauseFinished",
    "Event",
    "JobFinished",
    "MeasurementFinished",
    "TaskStarted",
    "check",
]

_START = "start"
TICK = 0.05
"""Seconds between checks of silent processes."""
HANGS = 3
"""Number of clauses in which an environment may hang before the rest of its clauses is abandoned."""
SPEED_SECONDS = 0.2
"""CPU seconds of each figure of an environment's speed."""

_BOOT = "import sys; sys.path[:] = sys.argv[1:]; from gem_testing.worker import main; main()"
_LONGEST_LINE = 4 << 20
_GRACE = 0.5
"""Seconds for a dying process to write its stack, and for its last reports to arrive."""


@dataclass(frozen=True)
class CheckJob:
    """One environment and the work on it."""

    spec: EnvSpec
    clauses: tuple[str, ...]
    figures: tuple[str, ...] = ()
    """Of :data:`SCORES`, :data:`SPEED` and :data:`ATTACKS`."""
    manifest: Path | None = None
    namespaces: frozenset[str] | None = None
    requirements: tuple[str, ...] | None = None
    attack_seconds: float = 20.0
    """Wall-clock seconds for the battery of attacks; see :func:`gem_testing.attacks.audit`."""


@dataclass(frozen=True)
class TaskStarted:
    """The environment of job number ``job`` has begun a clause or another task (``"import"``)."""

    job: int
    what: str


@dataclass(frozen=True)
class ClauseFinished:
    """A clause was tested, or proved untestable."""

    job: int
    result: ClauseResult


@dataclass(frozen=True)
class MeasurementFinished:
    """Scores, speed or attacks were measured; ``value`` is None where that failed, for the reason in ``error``."""

    job: int
    kind: str
    value: dict[str, Any] | None
    error: str = ""


@dataclass(frozen=True)
class JobFinished:
    """This job is complete."""

    job: int


Event = TaskStarted | ClauseFinished | MeasurementFinished | JobFinished


def check(jobs: Sequence[CheckJob], processes: int, timeout: float) -> Iterator[Event]:
    """Do all jobs and yield each result as soon as it is known.

    When the iterator is closed, or an exception (Ctrl-C) passes through it, no process is left behind.

    Args:
        jobs: the jobs, begun in this order.
        processes: number of processes at a time, at least 1.
        timeout: wall-clock seconds that one clause may take.
    """
    reports: _Reports = queue.SimpleQueue()
    waiting = deque(_Run(number, job, timeout, reports) for number, job in enumerate(jobs))
    running: list[_Run] = []
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                running.append(waiting.popleft())
            # All results are worked out before the first is yielded, since the caller may be slow.
            events = [event for run in running for event in run.look_after()]
            running = [run for run in running if run.goes_on]
            yield from events
            if not events:
                yield from _events_within(TICK, reports)
    finally:
        for run in running:
            run.stop()


def _events_within(seconds: float, reports: _Reports) -> Iterator[Event]:
    """Wait for a report; yield the events of it and of all reports that have arrived."""
    with suppress(queue.Empty):
        worker, report = reports.get(timeout=seconds)
        yield from worker.run.hear(worker, report)
        while True:
            worker, report = reports.get_nowait()
            yield from worker.run.hear(worker, report)


class _Run:
    """One job: its remaining tasks and its worker."""

    def __init__(self, number: int, job: CheckJob, timeout: float, reports: _Reports) -> None:
        self.goes_on = True
        self._number = number
        self._job = job
        self._timeout = timeout
        self._news = reports
        self._left = [*job.clauses, *job.figures]
        self._worker: _Worker | None = None
        self._at = _START
        """The worker's current task."""
        self._since = 0.0
        self._hangs = 0
        self._explained = False
        """Whether a violated clause already explains that no episode can begin."""

    def look_after(self) -> Iterator[Event]:
        """Start a worker if one is needed; report one that has died or hangs."""
        if self._worker is None:
            if not self._left:
                self.goes_on = False
                yield JobFinished(self._number)
                return
            with _uninterrupted():
                self._worker = _Worker(self, self._job, self._left, self._news)
            self._at, self._since = _START, time.monotonic()
        elif self._worker.has_ended:
            yield from self._blame(self._worker.stop())
        elif time.monotonic() - self._since > self._timeout:
            self._hangs += 1
            end = self._worker.stop(with_stack=True)
            yield from self._blame(end._replace(what=f"did not finish within {self._timeout:g} s", advice=""))

    def hear(self, worker: _Worker, report: Any) -> Iterator[Event]:
        """Handle a report. Reports of an abandoned worker come too late."""
        if report is None:
            worker.all_heard = True
            return
        if worker is not self._worker:
            return
        kind, value = report
        if kind == "begin":
            yield from self._lost_before(value)
            self._at, self._since = value, time.monotonic()
            if value != _START:
                yield TaskStarted(self._number, value)
        elif kind == "result":
            yield from self._lost_before(value["clause"])
            self._left.remove(value["clause"])
            yield self._heard(ClauseResult(**{**value, "outcome": ClauseOutcome(value["outcome"])}))
        elif kind == "figures":
            yield MeasurementFinished(self._number, self._left.pop(0), value.get("value"), value.get("error", ""))
        elif kind == "done":
            self.stop()
            yield from self._lost_before(None)

    def stop(self) -> None:
        """End every process."""
        if self._worker is not None:
            self._worker.stop()
            self._worker = None

    def _lost_before(self, task: str | None) -> Iterator[Event]:
        """Fail the tasks that should have been reported before ``task``, or before the end."""
        while (task is None or task in self._left) and self._left and self._left[0] != task:
            reason = "its result was lost: the environment wrote into file descriptors that are not its own"
            yield self._failed(self._left[0], reason)

    def _blame(self, end: _End) -> Iterator[Event]:
        """Fail the worker's current task, and abandon tasks that can no longer be tested."""
        self._worker = None
        if self._at in self._left:
            where = f"when its {self._at} should be measured" if self._at in self._job.figures else "in this clause"
            yield self._failed(self._at, f"the process {end.what} {where}{end.where}{end.advice}")
            if self._hangs >= HANGS:
                yield from self._give_up(
                    self._left, f"it hung {HANGS} times", "make the clauses that hang finish first"
                )
            return
        if self._at == _START:
            reason = f"the process of the check {end.what} before it began{end.said}"
            lost = list(self._left)
        else:
            what = f"it imported {_module(self._job.spec)}" if self._at == IMPORT else "the first episode began"
            reason = f"the process {end.what} while {what}{end.where}{end.advice}"
            lost = [task for task in self._left if needs_environment(task)]
        if not self._explained:
            yield self._failed(lost[0], reason)
        yield from self._give_up(lost, f"no episode can begin: {reason}", f"see {' and '.join(BEGINNINGS)}")

    def _failed(self, task: str, reason: str) -> Event:
        return self._closed(task, ClauseResult(task, ClauseOutcome.VIOLATED, reason))

    def _give_up(self, tasks: Iterable[str], reason: str, advice: str) -> Iterator[Event]:
        for task in [task for task in tasks if task in self._left]:
            yield self._closed(task, ClauseResult(task, ClauseOutcome.NOT_TESTED, reason, advice))

    def _closed(self, task: str, result: ClauseResult) -> Event:
        """Take a task off the list without a worker's report."""
        self._left.remove(task)
        if task in self._job.figures:
            return MeasurementFinished(self._number, task, None, result.message)
        if task in self._job.spec.exempt:
            result = ClauseResult(task, ClauseOutcome.NOT_TESTED, self._job.spec.exempt[task], exempt=True)
        return self._heard(result)

    def _heard(self, result: ClauseResult) -> Event:
        self._explained |= result.clause in BEGINNINGS and result.outcome is ClauseOutcome.VIOLATED
        return ClauseFinished(self._number, result)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait while a process starts, as nobody would know the process of a start broken off."""
    late: list[int] = []
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():  # only there do handlers run
        for number in (signal.SIGINT, signal.SIGTERM):
            if callable(signal.getsignal(number)):
                before[number] = signal.signal(number, lambda number, _: late.append(number))
    try:
        yield
    finally:
        for kept, handler in before.items():
            signal.signal(kept, handler)
        for arrived in late:
            signal.raise_signal(arrived)


def _module(spec: EnvSpec) -> str:
    return name_of(spec.entry_point).partition(":")[0]


class _End(NamedTuple):
    """The end of a process."""

    what: str
    """``"died with exit code 3"``."""
    where: str
    """``", in step at my_envs/thing.py:12"``; empty if unknown."""
    said: str
    """The last line that it wrote while it started."""
    advice: str


class _Worker:
    """A process that checks one environment, in a folder of its own, with all processes that it starts."""

    def __init__(self, run: _Run, job: CheckJob, tasks: Sequence[str], reports: _Reports) -> None:
        self.run = run
        self._scratch = tempfile.TemporaryDirectory(prefix="gem-check-", ignore_cleanup_errors=True)
        scratch = Path(self._scratch.name)
        folder, temporary, self._errors = scratch / "work", scratch / "tmp", scratch / "errors.txt"
        folder.mkdir()
        temporary.mkdir()
        self._token = secrets.token_hex(16)
        order = {
            "token": self._token,
            "folder": str(folder),
            "tasks": list(tasks),
            "speed_seconds": SPEED_SECONDS,
            "attack_seconds": job.attack_seconds,
            "spec": job.spec.to_dict(),
            "manifest": None if job.manifest is None else str(job.manifest.absolute()),
            "namespaces": None if job.namespaces is None else sorted(job.namespaces),
            "requirements": None if job.requirements is None else list(job.requirements),
        }
        (scratch / "job.json").write_text(json.dumps(order), encoding="utf-8")
        with (scratch / "job.json").open("rb") as job_file, self._errors.open("wb") as errors:
            self._process = subprocess.Popen(  # noqa: S603  # Python itself
                [sys.executable, "-c", _BOOT, *(os.path.abspath(entry) for entry in sys.path)],  # noqa: PTH100
                stdin=job_file,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=folder,
                env={**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))},
                start_new_session=True,  # so that it and all its children can be ended together
            )
        self.all_heard = False
        """Whether the last report has been taken out of the queue."""
        self._ended_at: float | None = None
        self._listener = threading.Thread(target=self._listen, args=(reports,), daemon=True)
        self._listener.start()

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended and all its reports have been read."""
        if self._process.poll() is None:
            return False
        if self._ended_at is None:
            self._ended_at = time.monotonic()
            self._kill()  # a surviving child would keep the pipe open
        return self.all_heard or time.monotonic() - self._ended_at > _GRACE

    def stop(self, *, with_stack: bool = False) -> _End:
        """End the process and its children; return the manner of its end.

        Args:
            with_stack: let it first write its stack.
        """
        if with_stack and self._process.poll() is None:
            self._process.send_signal(signal.SIGABRT)  # faulthandler writes the stack
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE)
        self._kill()
        with suppress(subprocess.TimeoutExpired):  # a process that waits for a device cannot be killed
            self._process.wait(_GRACE)
        self._listener.join(_GRACE)
        text = ""
        with suppress(OSError):  # an environment may have removed it
            text = self._errors.read_text(encoding="utf-8", errors="replace")
        self._scratch.cleanup()
        what, advice = _in_words(self._process.returncode)
        last_line = text.strip().rpartition("\n")[2]
        return _End(what, _place(text), f": {last_line}" if last_line else "", advice)

    def _kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()

    def _listen(self, reports: _Reports) -> None:
        pipe = self._process.stdout
        assert pipe is not None
        mark = self._token.encode()
        line = b""
        with pipe:
            while chunk := os.read(pipe.fileno(), 1 << 16):
                *lines, line = (line + chunk).split(b"\n")
                for whole in lines:
                    if whole.startswith(mark):
                        with suppress(ValueError):  # another process wrote into it
                            reports.put((self, json.loads(whole[len(mark) :])))
                if len(line) > _LONGEST_LINE:
                    line = b""
        reports.put((self, None))


_Reports = queue.SimpleQueue[tuple[_Worker, Any]]

_FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+) in (?P<function>\S+)$', re.MULTILINE)


def _in_words(returncode: int | None) -> tuple[str, str]:
    """Return the manner of a process's end, with advice."""
    if returncode is None:
        return "cannot be killed", ""
    if returncode == CHANNEL_LOST:
        return "lost its connection to the check", "; close no file descriptors but those that the environment opened"
    if returncode >= 0:
        advice = "; an environment must not end the process that it runs in"
        return f"died with exit code {returncode}", advice
    try:
        name = signal.Signals(-returncode).name
    except ValueError:
        name = f"signal {-returncode}"
    advice = "; the system does that when memory runs out" if -returncode == signal.SIGKILL else ""
    return f"was killed by {name}", advice


def _place(stacks: str) -> str:
    """Return the innermost frame of foreign code in faulthandler's output, in words; empty if there is none."""
    library, own = os.path.dirname(os.__file__), str(Path(__file__).parents[1])  # noqa: PTH120
    _, _, current = stacks.rpartition("Current thread")
    for frame in (*_FRAME.finditer(current), *_FRAME.finditer(stacks)):
        file = frame["file"]
        is_library = file.startswith(library) and "-packages" not in file
        if not file.startswith(("<", own)) and not is_library:
            return f", in {frame['function']} at {_relative(file)}:{frame['line']}"
    return ""


def _relative(file: str) -> str:
    """Return a file's path relative to its import folder, so that messages are the same everywhere."""
    under = [Path(entry) for entry in sys.path if entry and Path(file).is_relative_to(entry)]
    return str(Path(file).relative_to(max(under, key=lambda path: len(path.parts)))) if under else Path(file).name
