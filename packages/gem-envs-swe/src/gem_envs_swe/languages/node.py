"""From the name of a package of npm to a folder of proved tasks: :func:`make_node_set`.

A task is a change of one token. It is proved as those of Python are: the listed tests fail three times, in different
orders of the test files, the others pass, and the patches lead back to the package's own tree. The package's own tests
must pass with a process for each file as well. The files of the failing tests are hidden whole.
"""

from __future__ import annotations

import hashlib
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gem_envs_swe import __version__
from gem_envs_swe.errors import SweError
from gem_envs_swe.languages.javascript import SourceChange, changes_of, tokens_of
from gem_envs_swe.languages.npm import NpmPackage, fetch_package, write_node_context
from gem_envs_swe.languages.tape_suite import TapeFailure, TapeRun, TapeSuite
from gem_envs_swe.making.patches import diff_of
from gem_envs_swe.making.proving import RejectedCandidate
from gem_envs_swe.row import SweRow
from gem_envs_swe.task_set import IMAGE, REPOSITORY, SweSet, write_set
from gem_terminal.engines import Engine
from gem_terminal.engines.base import Progress, ProgressStage, report_stage
from gem_terminal.plain_text import plain_text
from gem_terminal.task import Image

__all__ = ["code_shown", "make_node_set"]

_SHOWN = 2
"""Failing tests that a statement shows."""
_LONGEST = 900
_SHORT = 12
"""A line of a solution with fewer characters gives nothing away."""


def make_node_set(
    wanted: str, folder: Path, tasks: int, engine: Engine, *, seed: int = 0, progress: Progress | None = None
) -> SweSet:
    """Make a set of tasks from a package of npm whose tests are run by tape, and return its description.

    Args:
        wanted: the package, such as ``minimist@1.2.8``.
        folder: the set; it must not exist, or be empty.
        tasks: how many.
        engine: runs the package's tests.
        seed: chooses the changes.
        progress: receives the stages.

    Raises:
        SweError: if the package cannot become tasks; the message says why.
        EngineError: if its image cannot be built.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SweError(f"{folder} is not empty; name a new folder")
    with tempfile.TemporaryDirectory(prefix="gem-swe-") as scratch:
        report_stage(progress, ProgressStage(f"fetching {wanted}"))
        package = fetch_package(wanted, Path(scratch) / "package")
        if not package.test_files:
            raise SweError(f"the archive of {package.name} {package.version} holds no tests below test or tests")
        write_node_context(package, folder / IMAGE)
        reference = engine.prepare(Image(folder=folder / IMAGE), progress)
        with TapeSuite(engine, reference, package.test_files) as suite:
            report_stage(progress, ProgressStage("running the package's own tests"))
            making = _Making(package, suite, seed)
            rows: list[SweRow] = []
            for row in making.rows():
                rows.append(row)
                report_stage(progress, ProgressStage("proving tasks", len(rows), tasks))
                if len(rows) == tasks:
                    break
            if not rows:
                raise SweError(f"no change of {package.name} became a task; rejected: {dict(making.rejected)}")
            described = SweSet(
                package=package.name, version=package.version, archive_sha256=package.archive.sha256,
                python=f"node {suite.node()}", seed=seed, maker=__version__, test_command=("node",), test_form="node",
                test_files=tuple(package.test_files), tests=len(making.stable), left_out=making.left_out,
                tasks=len(rows), kinds={"bug": len(rows)}, rejected=dict(sorted(making.rejected.items())),
            )  # fmt: skip
            write_set(folder, described, rows)
            return described


@dataclass(frozen=True)
class _Candidate:
    path: str
    change: SourceChange


class _Making:
    """The choice and the proof of changes."""

    def __init__(self, package: NpmPackage, suite: TapeSuite, seed: int) -> None:
        self._package, self._suite, self._seed = package, suite, seed
        self.rejected: Counter[str] = Counter()
        self._texts = {path: _text(package.tree / path) for path in (*package.source_files, *package.test_files)}
        runs = [suite.run(), *(suite.run_together(order=self._order(number)) for number in (1, 2))]
        self.stable = frozenset.intersection(*(frozenset(run.named("passed")) for run in runs))
        seen = set().union(*(run.outcomes for run in runs))
        self.left_out = dict.fromkeys(sorted(seen - self.stable), "failing or flaky")
        if not self.stable:
            broken = ", ".join(runs[0].broken_files[:5])
            raise SweError(f"none of the tests of {package.name} passes here; files that end by an error: {broken}")

    def rows(self) -> Iterator[SweRow]:
        """Yield proved tasks until no changes are left."""
        candidates = [
            _Candidate(path, change) for path in self._package.source_files for change in changes_of(self._texts[path])
        ]
        random.Random(f"{self._seed} {self._package.name}").shuffle(candidates)
        for candidate in candidates:
            try:
                yield self._proved(candidate)
            except RejectedCandidate as reason:
                self.rejected[str(reason)] += 1

    def _order(self, number: int) -> list[str]:
        files = list(self._package.test_files)
        if number:
            random.Random(f"{self._seed} {number}").shuffle(files)
        return files

    def _proved(self, candidate: _Candidate) -> SweRow:
        own = self._texts[candidate.path]
        broken = {candidate.path: candidate.change.applied(own)}
        first = self._suite.run_together(broken)
        failing = self._failing(first)
        runs = [self._suite.run_together(broken, order=self._order(number)) for number in (1, 2)]
        if any(self._failing(run) != failing for run in runs):
            raise RejectedCandidate("its tests are flaky")
        hidden = {path: self._texts[path] for path in sorted({test.partition(" > ")[0] for test in failing})}
        break_patch = diff_of({candidate.path: own, **hidden}, broken)
        patch = diff_of(broken, {candidate.path: own})
        test_patch = diff_of({}, hidden)
        if not self._suite.restores([break_patch, test_patch, patch]):
            raise RejectedCandidate("its patches do not restore the tree")
        statement = self._statement(first, failing, hidden)
        if _gives_away(statement, patch, broken[candidate.path]):
            raise RejectedCandidate("its statement would hold the solution")
        tree = hashlib.sha256(break_patch.encode()).hexdigest()[:40]
        return SweRow(
            instance_id=f"{self._package.name}-{self._package.version}.bug.{tree[:10]}", repo=self._package.name,
            base_commit=tree, version=self._package.version, problem_statement=statement, patch=patch,
            test_patch=test_patch, FAIL_TO_PASS=tuple(sorted(failing)),
            PASS_TO_PASS=tuple(sorted(self.stable - failing)), kind="bug", level=candidate.change.level,
            seed=self._seed, break_patch=break_patch,
        )  # fmt: skip

    def _failing(self, run: TapeRun) -> set[str]:
        """Return the stable tests that a change fails.

        Raises:
            RejectedCandidate: if the change is no task by this run.
        """
        if run.broken_files:
            raise RejectedCandidate("the tests do not end")
        if not self.stable <= run.outcomes.keys():
            raise RejectedCandidate("tests vanish")
        failing = run.named("failed") & self.stable
        if not failing:
            raise RejectedCandidate("no test notices it")
        files = {test.partition(" > ")[0] for test in failing}
        if len(files) * 2 > len(self._package.test_files):
            raise RejectedCandidate("it breaks most tests")
        return failing

    def _statement(self, run: TapeRun, failing: set[str], hidden: Mapping[str, str]) -> str:
        """Return the statement, from what the failing tests show."""
        chosen = sorted(failing)
        random.Random(f"{self._seed} {chosen}").shuffle(chosen)
        parts = [f"# {self._package.name} does something else than it should"]
        for test in chosen[:_SHOWN]:
            file, _, name = test.partition(" > ")
            failure = run.failures[test]
            parts.append(f"After this code of the case “{name}”:")
            parts.append(_fenced(code_shown(hidden[file], file, name, failure), "js"))
            expected, actual = failure.fields.get("expected", "").strip(), failure.fields.get("actual", "").strip()
            parts.append(f"the check “{failure.assertion}” fails.")
            if expected or actual:
                parts += ["Expected:", _fenced(expected[:_LONGEST], "js"), "Actual:", _fenced(actual[:_LONGEST], "js")]
        if len(failing) > _SHOWN:
            parts.append(f"{len(failing) - _SHOWN} further cases are wrong as well.")
        parts.append("Find the cause in the package's source and mend it.")
        return plain_text("\n\n".join(parts)) + "\n"


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except UnicodeDecodeError as error:
        raise SweError(f"{path.name} is not UTF-8: {error}") from error


_PLACE = re.compile(r"\(?(?:file://)?([^()\s]+):(\d+):\d+\)?$")


def code_shown(text: str, file: str, name: str, failure: TapeFailure) -> str:
    """Return the lines of a test up to the end of the assertion that failed; at most 30."""
    lines = text.split("\n")
    place = _PLACE.search(failure.fields.get("at", ""))
    last = int(place[2]) if place is not None and place[1] == f"{REPOSITORY}/{file}" else 0
    first = next((number for number, line in enumerate(lines, 1) if name in line), last)
    if not first <= last <= len(lines):
        last = min(first + 8, len(lines))
    if last:
        last = _end_of_call(lines, last)
    return "\n".join(lines[max(first - 1, last - 30) : last]).strip("\n")


def _end_of_call(lines: list[str], line: int) -> int:
    """Return the line at which the brackets that a line opens are closed; both counted from 1, at most 20 apart."""
    depth = 0
    for number in range(line, min(line + 20, len(lines)) + 1):
        for token in tokens_of(lines[number - 1]):
            depth += (
                (token.text in "([{") - (token.text in ")]}") if token.kind == "sign" and len(token.text) == 1 else 0
            )
        if depth <= 0:
            return number
    return line


def _fenced(text: str, language: str) -> str:
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`{3,}", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def _gives_away(statement: str, patch: str, visible: str) -> bool:
    """Return whether a statement holds a line of the solution that the agent's tree does not have."""
    added = {line[1:].strip() for line in patch.splitlines() if line.startswith("+") and not line.startswith("+++")}
    shown = {line.strip() for line in statement.splitlines()}
    return any(line in shown for line in added if len(line) >= _SHORT and line not in visible)
