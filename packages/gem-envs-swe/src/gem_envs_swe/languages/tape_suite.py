"""Runs of the tests of a package of npm in one container: :class:`TapeSuite`, and what they give, :class:`TapeRun`."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gem_envs_swe.errors import SweError
from gem_envs_swe.languages.npm import NODE_MODULES
from gem_envs_swe.making.context import USER
from gem_envs_swe.task_set import REPOSITORY
from gem_terminal.archive import file_archive, files_archive
from gem_terminal.engines import Container, Engine
from gem_terminal.task import ResourceLimits

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["TapeFailure", "TapeRun", "TapeSuite", "read_tape"]

_LIMITS = ResourceLimits(cpus=2.0, memory=2 << 30)
_ASSERTION = re.compile(r"(not ok|ok) \d+(?: (.*))?")
_FIELD = re.compile(r" {4}(operator|expected|actual|at): ?(.*)")


_TOGETHER = f"""\
const test = require('{NODE_MODULES}/tape');
for (const file of process.argv.slice(3)) {{
  test(`${{process.argv[2]}} ${{file}}`, (t) => t.end());
  require(`${{process.cwd()}}/${{file}}`);
}}
"""
"""tape runs tests in the order in which they are named, so that one named before a file is loaded marks its begin."""
_CLEAN = "set -e; git reset -q --hard; git clean -q -f -d -x"
_APPLY = "for n in $(seq 0 {last}); do git apply --whitespace=nowarn /tmp/write/$n.diff; done"


@dataclass
class TapeFailure:
    """The first assertion of a test that failed."""

    assertion: str
    fields: dict[str, str] = field(default_factory=dict)
    """``operator``, ``expected``, ``actual`` and ``at``, as far as tape says them."""


@dataclass
class TapeRun:
    """The outcomes of a run: ``file > name`` of a test → ``passed`` or ``failed``."""

    outcomes: dict[str, str] = field(default_factory=dict)
    failures: dict[str, TapeFailure] = field(default_factory=dict)
    broken_files: list[str] = field(default_factory=list)
    """Files that ended by an error or their limit of time, outside of assertions."""

    def named(self, outcome: str) -> set[str]:
        """Return the tests with an outcome."""
        return {test for test, each in self.outcomes.items() if each == outcome}


def read_tape(file: str, output: str, run: TapeRun) -> None:
    """Add the outcomes that the output of a test file shows (TAP 13, as tape writes it: a comment names each test)."""
    test: str | None = None
    failure: TapeFailure | None = None
    block: str | None = None
    for line in output.split("\n"):
        if line.startswith("# ") and not re.match(r"# (?:tests|pass|fail|ok)\b", line):
            test, failure = f"{file} > {line[2:].strip()}", None
            run.outcomes.setdefault(test, "passed")
        elif test is not None and (assertion := _ASSERTION.fullmatch(line)) is not None:
            failure = block = None
            if assertion[1] == "not ok":
                run.outcomes[test] = "failed"
                failure = TapeFailure(assertion[2] or "")
                run.failures.setdefault(test, failure)
        elif failure is not None:
            if (named := _FIELD.fullmatch(line)) is not None:
                block = named[1] if named[2] in ("|-", "") else None
                failure.fields[named[1]] = "" if block else named[2]
            elif block is not None and line.startswith("      "):
                failure.fields[block] += f"{line[6:]}\n"
            else:
                block = None


class TapeSuite:
    """A container with a package's tree, in which its tests run, each time on the tree as it was.

    Args:
        engine: the engine.
        reference: the prepared image.
        files: the test files.
    """

    def __init__(self, engine: Engine, reference: str, files: Sequence[str]) -> None:
        self._engine, self._reference, self._files = engine, reference, list(files)
        self._container: Container | None = None

    def __enter__(self) -> Self:
        self._container = self._engine.start(self._reference, _LIMITS)
        return self

    def __exit__(self, *_: object) -> None:
        if self._container is not None:
            self._container.remove()

    def run(self, write: Mapping[str, str] | None = None) -> TapeRun:
        """Run the test files, each in a process of its own, ended after 20 s.

        Args:
            write: files of the tree that are different in this run, by path.

        Raises:
            SweError: if the container no longer answers.
        """
        self._put(dict(write or {}))
        token = secrets.token_hex(8)
        script = (
            f'{_CLEAN}; cp -r /tmp/write/. .; for file; do echo "{token} $file"; '
            f'code=0; timeout 20 node "$file" 2>/tmp/errors || code=$?; echo "{token} $code"; done'
        )
        run = TapeRun()
        parts = self._shell(script, self._files).split(f"{token} ")[1:]
        for begun, ended in zip(parts[::2], parts[1::2], strict=False):
            file, _, tap = begun.partition("\n")
            read_tape(file, tap, run)
            if ended.strip() not in ("0", "1"):
                run.broken_files.append(file)
        return run

    def run_together(self, write: Mapping[str, str] | None = None, *, order: Sequence[str] | None = None) -> TapeRun:
        """Run the test files in one process, in a seventh of the CPU time of :meth:`run`.

        An error outside of assertions ends all that follow it, whose tests are missing in the result.

        Args:
            write: files of the tree that are different in this run, by path.
            order: the files in another order.

        Raises:
            SweError: if the container no longer answers.
        """
        self._put(dict(write or {}))
        return self._together("cp -r /tmp/write/. .", order or self._files)

    def run_patched(self, patches: Sequence[str]) -> TapeRun:
        """Run the test files in one process, on the tree after patches, which git applies one after another.

        Raises:
            SweError: if a patch does not apply, or the container no longer answers.
        """
        self._put({f"{number}.diff": text for number, text in enumerate(patches)})
        return self._together(_APPLY.format(last=len(patches) - 1), self._files)

    def _together(self, change: str, files: Sequence[str]) -> TapeRun:
        token = secrets.token_hex(8)
        self._running.put(file_archive("together.js", _TOGETHER.encode()), "/tmp")  # noqa: S108
        script = f'{_CLEAN}; {change}; timeout 60 node /tmp/together.js {token} "$@" 2>/tmp/errors || true'
        run = TapeRun()
        for part in self._shell(script, files).split(f"# {token} ")[1:]:
            file, _, tap = part.partition("\n")
            read_tape(file, tap, run)
        return run

    def restores(self, patches: Sequence[str]) -> bool:
        """Return whether patches, applied one after another with git, lead back to the tree as it was."""
        self._put({f"{number}.diff": text for number, text in enumerate(patches)})
        script = f"{_CLEAN}; {_APPLY.format(last=len(patches) - 1)}; git add -A -f .; git diff --cached --quiet"
        try:
            self._shell(script, ())
        except SweError:
            return False
        return True

    def node(self) -> str:
        """Return the version of Node, such as ``v18.20.4``."""
        return self._shell("node --version", ()).strip()

    def _put(self, files: Mapping[str, str]) -> None:
        self._shell("rm -rf /tmp/write; mkdir /tmp/write", ())
        archive = files_archive({name: (text.encode(), 0o644) for name, text in files.items()}, "")
        self._running.put(archive, "/tmp/write")  # noqa: S108

    def _shell(self, script: str, arguments: Sequence[str]) -> str:
        done = self._running.run(("sh", "-c", script, "sh", *arguments), seconds=600, user=USER, workdir=REPOSITORY)
        output = done.output.decode(errors="replace")
        if done.exit_code != 0:
            raise SweError(f"a command in the container of the package failed: {output.strip()[-300:]}")
        return output

    @property
    def _running(self) -> Container:
        if self._container is None:
            raise SweError("the suite's container was not started; use it in a with statement")
        return self._container
