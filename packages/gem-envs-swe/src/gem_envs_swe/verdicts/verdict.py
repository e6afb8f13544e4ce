"""The verdict on an agent's changes: :func:`judge`, and what it says, :class:`SweVerdict`."""

from __future__ import annotations

import hashlib
import io
import random
import tarfile
from collections import OrderedDict
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from threading import Lock

from gem.fork_hooks import after_fork_in_child
from gem_envs_swe.task_set import REPOSITORY
from gem_envs_swe.verdicts.agent_changes import countable_changes, diff_of_agent
from gem_envs_swe.verdicts.test_runs import NO_LOG, TestRun, all_with_controls, run_tests
from gem_envs_swe.workplace.tasks import SweTask
from gem_terminal.copied_folders import copy_in
from gem_terminal.engines.base import Container, Engine
from gem_terminal.episodes.progress import showing
from gem_terminal.errors import ContentError
from gem_terminal.task import CopiedFolder
from gem_terminal.verdicts.carried_files import CarriedFiles
from gem_terminal.verdicts.pristine import lay_over
from gem_terminal.verdicts.verification import kill_processes

__all__ = ["SAMPLE", "SweVerdict", "VerdictOptions", "judge"]

SAMPLE = 50
"""How many of the tests that must still pass a verdict runs, unless an option says another number."""
_MOST_CHANGED = 64 << 20
"""Bytes of an agent's changed files."""
_MOST_KEPT = 4096
"""Verdicts that a process remembers; the one used longest ago is forgotten first."""


@dataclass(frozen=True)
class VerdictOptions:
    """How much is run."""

    sample: int | None = SAMPLE
    """The number of tests of PASS_TO_PASS; None for all. They are drawn by the changes alone, so that an agent cannot
    know them, and the proof of a task runs those of its solution."""
    seconds: float = 600.0
    """The time limit of the tests."""
    log: bool = True
    """Whether the log shows how tests fail, which takes half of the time where the tests are many files."""


@dataclass(frozen=True)
class SweVerdict:
    """What the hidden tests say of an agent's changes."""

    mended: int
    """Tests of FAIL_TO_PASS that pass now."""
    to_mend: int
    broken: tuple[str, ...] = ()
    """Tests of PASS_TO_PASS, of those that were run, that do not pass any more."""
    kept: int = 0
    """Those that still pass."""
    failing: tuple[str, ...] = ()
    """Tests of FAIL_TO_PASS that do not pass yet."""
    wrong: str = ""
    """Why the run counts as nothing; see :class:`~gem_envs_swe.verdicts.test_runs.TestRun`."""
    log: str = ""
    diff: str = ""
    """The agent's tree as a diff against the tree that it began with."""
    ignored: tuple[str, ...] = ()
    """Changed paths that did not count: tests, configuration and what else the image decides."""

    @property
    def solved(self) -> bool:
        """Whether every test that was run passes."""
        return not self.wrong and self.mended == self.to_mend and not self.broken

    def reward(self, kind: str) -> float:
        """Return the reward, from 0.0 to 1.0.

        Args:
            kind: ``"all"``: 1.0 if it is solved; ``"fraction"``: the share of FAIL_TO_PASS that passes;
                ``"regressions"``: that share, less one share of a test for each broken one.
        """
        if kind == "all" or self.wrong:
            return float(self.solved)
        counted = self.mended - (len(self.broken) if kind == "regressions" else 0)
        return max(counted, 0) / self.to_mend


def judge(task: SweTask, container: Container, engine: Engine, options: VerdictOptions) -> SweVerdict:
    """Return the verdict on the changes in an agent's container.

    A fresh container gets the tree that the agent began with, those of its changes that count, and the hidden tests.
    The verdict on changes that were judged before is remembered.

    Args:
        task: the task.
        container: the agent's, whose processes are killed first.
        engine: starts the fresh container.
        options: how much is run.

    Raises:
        EngineError: if a container or the engine died, or the fresh container does not start.
    """
    kill_processes(container)
    with showing(f"image of {task.row.instance_id}") as tell:
        reference = engine.prepare(task.image, tell)
    try:
        changes = container.changes((REPOSITORY,), most=_MOST_CHANGED)
        diff = diff_of_agent(task, changes)
        carried = countable_changes(task, changes, engine, reference)
    except (ContentError, tarfile.TarError, EOFError, OverflowError, ValueError) as problem:
        return _worthless(task, f"the agent's files cannot be copied: {problem}")
    digest = _digest(task, carried)
    known = _VERDICTS.get((digest, options))
    if known is None:
        known = _judged(task, carried, engine, reference, options, digest)
        _VERDICTS.add((digest, options), known)
    return replace(known, diff=diff, ignored=_ignored(carried))


def _judged(
    task: SweTask, carried: CarriedFiles, engine: Engine, reference: str, options: VerdictOptions, digest: str
) -> SweVerdict:
    row, container_task = task.row, task.container_task
    # Where the agent is to write tests, those in its own file prove nothing, and the hidden ones run that file.
    written_by_agent = task.solved.keys() - task.hidden.keys()
    sample = [test for test in row.PASS_TO_PASS if test.partition("::")[0] not in written_by_agent]
    if options.sample is not None and len(sample) > options.sample:
        sample = random.Random(digest).sample(sorted(sample), options.sample)
    listed = {*row.FAIL_TO_PASS, *sample}
    texts = {file: task.test_text(file) for file in {test.partition("::")[0] for test in listed}}
    written, controls = all_with_controls({file: text for file, text in texts.items() if text is not None})
    with engine.start(reference, container_task.limits, container_task.environment) as fresh:
        copy_in(fresh, container_task.folders, container_task.workdir)
        if error := lay_over(fresh, carried):
            return _worthless(task, error)
        copy_in(
            fresh, (CopiedFolder(None, REPOSITORY, task.files({**task.hidden, **written})),), container_task.workdir
        )
        run = run_tests(
            fresh,
            listed,
            controls,
            arguments=(*_arguments(task.described.test_command), *(() if options.log else NO_LOG)),
            user=container_task.user,
            workdir=REPOSITORY,
            changed=[path for path in carried.others if path.endswith(".py")],
            seconds=options.seconds,
        )
    return _verdict(task, run, sample)


def _verdict(task: SweTask, run: TestRun, sample: list[str]) -> SweVerdict:
    failing = tuple(test for test in task.row.FAIL_TO_PASS if not run.passed(test))
    broken = tuple(test for test in sample if not run.passed(test))
    return SweVerdict(
        mended=len(task.row.FAIL_TO_PASS) - len(failing),
        to_mend=len(task.row.FAIL_TO_PASS),
        broken=broken,
        kept=len(sample) - len(broken),
        failing=failing,
        wrong=run.wrong,
        log=run.log,
    )


def _worthless(task: SweTask, why: str) -> SweVerdict:
    return SweVerdict(0, len(task.row.FAIL_TO_PASS), failing=task.row.FAIL_TO_PASS, wrong=why)


def _arguments(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return the options of pytest in the command of a set: ``python3 -m pytest OPTIONS``."""
    return command[command.index("pytest") + 1 :] if "pytest" in command else ()


def _ignored(carried: CarriedFiles) -> tuple[str, ...]:
    root = PurePosixPath(REPOSITORY)
    paths = (PurePosixPath(path) for path in carried.refused)
    return tuple(
        str(path.relative_to(root)).encode(errors="replace").decode()
        for path in paths
        if root in path.parents and ".git" not in path.parts and "__pycache__" not in path.parts
    )[:100]


def _digest(task: SweTask, carried: CarriedFiles) -> str:
    digest = hashlib.sha256(repr((task.key, sorted(carried.removed), sorted(carried.kept))).encode())
    # Times and owners of files change nothing about what their content is worth.
    with tarfile.open(fileobj=io.BytesIO(carried.archive)) as archive:
        for member in sorted(archive, key=lambda each: each.name):
            content = archive.extractfile(member) if member.isreg() else None
            kind = (member.name, member.type, member.mode, member.linkname, member.size)
            digest.update(repr(kind).encode(errors="surrogateescape"))
            digest.update(content.read() if content is not None else b"")
    return digest.hexdigest()


class _Verdicts:
    """The verdicts that a process remembers, by the digest of task and changes, and the options."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, VerdictOptions], SweVerdict] = OrderedDict()
        self._lock = Lock()

    def get(self, key: tuple[str, VerdictOptions]) -> SweVerdict | None:
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def add(self, key: tuple[str, VerdictOptions], verdict: SweVerdict) -> None:
        with self._lock:
            self._kept[key] = verdict
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)

    def renew_lock(self) -> None:
        self._lock = Lock()


_VERDICTS = _Verdicts()


@after_fork_in_child
def _reset_after_fork() -> None:
    """Another thread of the parent may have held the lock."""
    _VERDICTS.renew_lock()
