"""From the name of a package to a folder of proved tasks: :func:`make_set`."""

from __future__ import annotations

import hashlib
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gem_envs_swe import __version__
from gem_envs_swe.errors import SweError
from gem_envs_swe.making.archives import SourceArchive, find_archive, metadata_of, unpack_archive, wanted_source
from gem_envs_swe.making.baseline import Baseline, PackageTree, measure_baseline
from gem_envs_swe.making.candidates import Candidate
from gem_envs_swe.making.context import system_context, write_context
from gem_envs_swe.making.episode_verdicts import check_verdicts
from gem_envs_swe.making.kinds import MAKERS
from gem_envs_swe.making.proof_journal import ProofJournal, is_free
from gem_envs_swe.making.proving import RejectedCandidate, prove
from gem_envs_swe.making.requirements import fetch_wheels, read_needs
from gem_envs_swe.making.statements import gives_away, statement_of
from gem_envs_swe.making.suites import SuiteRunner
from gem_envs_swe.row import SweRow
from gem_envs_swe.task_set import IMAGE, SweSet
from gem_envs_swe.workplace.source_tree import SourceTree
from gem_envs_swe.workplace.tasks import SweTask, image_of_set, task_key
from gem_terminal.engines import Engine
from gem_terminal.engines.base import Progress, ProgressStage, report_stage
from gem_terminal.task import Image, ResourceLimits

__all__ = ["MakingOptions", "make_set", "python_of_images"]

_PATIENCE = 400
"""Candidates that may be rejected one after another before a kind counts as exhausted."""


@dataclass(frozen=True)
class MakingOptions:
    """What to make."""

    tasks: int
    seed: int = 0
    kinds: tuple[str, ...] = tuple(MAKERS)
    whole: bool = False
    """Whether every test is run for each task; see :func:`~gem_envs_swe.making.proving.prove`."""
    suite_seconds: float = 600.0
    """The time limit of a run of all tests."""
    seconds: float | None = None
    """Seconds by the clock, from the first proof on, after which none is begun; the set can then go on."""


def make_set(
    wanted: str, folder: Path, options: MakingOptions, engine: Engine, progress: Progress | None = None
) -> SweSet:
    """Make a set of tasks, and return its description.

    Args:
        wanted: a source archive, or a requirement such as ``more-itertools==10.8.0``.
        folder: the set; it must not exist, be empty, or hold what an earlier call that was cut off, or came to the end
            of its seconds, has proved, with which this one goes on.
        options: how many tasks, and of which kinds.
        engine: runs the package's tests.
        progress: receives the stages.

    Raises:
        SweError: if the package cannot become tasks; the message says why.
        EngineError: if its image cannot be built.
    """
    if not is_free(folder):
        raise SweError(f"{folder} is not empty; name a new folder")
    wanted_source(wanted)  # raises before the engine has anything to do
    with tempfile.TemporaryDirectory(prefix="gem-swe-") as scratch:
        python = python_of_images(engine, progress)
        report_stage(progress, ProgressStage(f"fetching {wanted}"))
        archive = find_archive(wanted, Path(scratch) / "archive", python)
        tree = unpack_archive(archive, Path(scratch) / "source")
        needs = read_needs(tree, python)
        report_stage(progress, ProgressStage(f"fetching what {needs.package} needs"))
        requirements = fetch_wheels(needs, python, Path(scratch) / "wheels")
        making = {
            "archive_sha256": archive.sha256, "python": python, "seed": options.seed, "kinds": list(options.kinds),
            "whole": options.whole, "maker": __version__,
        }  # fmt: skip
        with ProofJournal(folder, making) as journal:
            write_context(tree, Path(scratch) / "wheels", requirements, folder / IMAGE)
            return _proved(archive, folder, options, engine, python, journal, progress)


def _proved(
    archive: SourceArchive,
    folder: Path,
    options: MakingOptions,
    engine: Engine,
    python: str,
    journal: ProofJournal,
    progress: Progress | None,
) -> SweSet:
    image = image_of_set(folder)
    reference = engine.prepare(image, progress)
    with SuiteRunner(engine, reference, SourceTree(folder / IMAGE / "repo")) as runner:
        report_stage(progress, ProgressStage("running the package's own tests"))
        baseline = measure_baseline(PackageTree(folder / IMAGE / "repo"), runner, options.seed, options.suite_seconds)
        making = _Making(
            baseline, runner, options, journal, progress, image, partial(_described, archive, baseline, options, python)
        )
        rows = making.rows()
        if not rows:
            within = f" within {options.seconds:g} s" if making.is_late else ""
            rejected = dict(making.rejected) or "none"
            raise SweError(f"no change of {making.package} became a task{within}; rejected: {rejected}")
        described = making.describe(rows, making.rejected)
        journal.finish(described, rows, goes_on=making.is_late)
        return described


class _TimeIsUp(Exception):  # noqa: N818  # the ordinary end of a making with a limit
    """There is no time for another proof."""


class _Making:
    """The choice and the proof of candidates."""

    def __init__(
        self,
        baseline: Baseline,
        runner: SuiteRunner,
        options: MakingOptions,
        journal: ProofJournal,
        progress: Progress | None,
        image: Image,
        describe: Callable[[Sequence[SweRow], Counter[str]], SweSet],
    ) -> None:
        self._baseline, self._runner, self._options = baseline, runner, options
        self._end = None if options.seconds is None else time.monotonic() + options.seconds
        self._journal, self._progress, self._image, self.describe = journal, progress, image, describe
        self.is_late = False
        """Whether a candidate was left for want of time."""
        self.rejected: Counter[str] = Counter()
        self._diffs: set[str] = set()
        fields = metadata_of(baseline.tree.folder)
        self.package, self._version = fields["name"][0], fields["version"][0]

    def rows(self) -> list[SweRow]:
        """Return the tasks, one of each kind in turn, until there are enough or no candidates are left."""
        waiting = {
            kind: MAKERS[kind](self._baseline, random.Random(f"{self._options.seed} {kind}"))
            for kind in self._options.kinds
        }
        rows: list[SweRow] = []
        while waiting and len(rows) < self._options.tasks:
            for kind in list(waiting):
                if len(rows) == self._options.tasks:
                    break
                try:
                    row = self._next(kind, waiting[kind])
                except _TimeIsUp:
                    self.is_late = True
                    return rows
                if row is None:
                    del waiting[kind]
                else:
                    rows.append(row)
                report_stage(self._progress, ProgressStage("proving tasks", len(rows), self._options.tasks))
        return rows

    def _next(self, kind: str, candidates: Iterator[Candidate]) -> SweRow | None:
        """Return the next proved task of a kind; None if there is none."""
        for number, candidate in enumerate(candidates):
            try:
                return self._row(candidate)
            except RejectedCandidate as reason:
                self.rejected[str(reason)] += 1
            if number >= _PATIENCE:
                break
        return None

    def _row(self, candidate: Candidate) -> SweRow:
        digest = hashlib.sha256(
            "\0".join(f"{path}\0{text}" for path, text in sorted(candidate.write.items())).encode()
        ).hexdigest()
        if digest in self._diffs:
            raise RejectedCandidate("it is a duplicate")
        self._diffs.add(digest)
        if digest not in self._journal.verdicts:
            if self._end is not None and time.monotonic() >= self._end:
                raise _TimeIsUp
            try:
                self._journal.add(digest, self._proved(candidate, int(digest[:8], 16) ^ self._options.seed))
            except RejectedCandidate as reason:
                self._journal.add(digest, str(reason))
        verdict = self._journal.verdicts[digest]
        if isinstance(verdict, str):
            raise RejectedCandidate(verdict)
        return verdict

    def _proved(self, candidate: Candidate, seed: int) -> SweRow:
        row = self._row_of(candidate, seed)
        described = self.describe((row,), self.rejected)
        task = SweTask(row, described, self._runner.tree, self._image, task_key(self._image, row))
        check_verdicts(task, self._runner.engine)
        return row

    def _row_of(self, candidate: Candidate, seed: int) -> SweRow:
        proof = prove(candidate, self._baseline, self._runner, seed, whole=self._options.whole)
        statement = statement_of(proof, self._baseline, seed)
        if gives_away(statement, proof, self._baseline):
            raise RejectedCandidate("its statement would hold the solution")
        tree = hashlib.sha256(proof.break_patch.encode()).hexdigest()[:40]
        return SweRow(
            instance_id=f"{self.package}-{self._version}.{candidate.kind}.{tree[:10]}", repo=self.package,
            base_commit=tree, version=self._version, problem_statement=statement, patch=proof.patch,
            test_patch=proof.test_patch, FAIL_TO_PASS=proof.failing, PASS_TO_PASS=proof.passing,
            kind=candidate.kind, level=candidate.level, seed=seed, break_patch=proof.break_patch,
        )  # fmt: skip


def python_of_images(engine: Engine, progress: Progress | None = None) -> str:
    """Return the version of Python that packages will have in the images of an engine."""
    with tempfile.TemporaryDirectory(prefix="gem-swe-") as context:
        system_context(Path(context))
        reference = engine.prepare(Image(folder=Path(context)), progress)
    with engine.start(reference, ResourceLimits()) as container:
        done = container.run(("python3", "-c", "import platform; print(platform.python_version())"), seconds=60)
    return done.output.decode(errors="replace").strip()


def _described(
    archive: SourceArchive,
    baseline: Baseline,
    options: MakingOptions,
    python: str,
    rows: Sequence[SweRow],
    rejected: Counter[str],
) -> SweSet:
    return SweSet(
        package=rows[0].repo, version=rows[0].version, archive_sha256=archive.sha256, python=python, seed=options.seed,
        maker=__version__, test_command=("python3", "-m", "pytest", *baseline.arguments),
        test_files=tuple(sorted({test.partition("::")[0] for test in baseline.stable})), tests=len(baseline.stable),
        left_out=dict(baseline.left_out), tasks=len(rows),
        kinds=dict(sorted(Counter(row.kind for row in rows).items())),
        rejected=dict(sorted(rejected.items())),
    )  # fmt: skip
