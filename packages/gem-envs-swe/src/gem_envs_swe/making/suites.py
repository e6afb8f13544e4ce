"""Runs of a package's tests in one container: :class:`SuiteRunner`, and what they give, :class:`SuiteRun`."""

from __future__ import annotations

import io
import json
import secrets
import tarfile
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gem_envs_swe.errors import SweError
from gem_envs_swe.making.context import USER
from gem_envs_swe.task_set import REPOSITORY
from gem_envs_swe.verdicts.test_runs import NO_LOG, TestRun, all_with_controls, run_tests
from gem_envs_swe.workplace.source_tree import SourceTree, text_of
from gem_envs_swe.workplace.tasks import TASK_LIMITS
from gem_terminal.copied_folders import copy_in
from gem_terminal.engines import Channel, Engine
from gem_terminal.task import CopiedFolder, ResourceLimits

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["TEST_ARGUMENTS", "FailedTest", "SuiteRun", "SuiteRunner"]

TEST_ARGUMENTS = ("-o", "addopts=", "-o", "filterwarnings=", "-p", "no:cacheprovider", "--doctest-glob=-", "-q")
"""What pytest gets: the package's own options may ask for plugins that are not here, or leave tests out, and its
filters make errors of the warnings of libraries that are newer than it. Text files are no tests; the plugin that reads
them stays, because other plugins ask for its options."""
_OF_ALL = ("--continue-on-collection-errors",)
"""What it gets besides in a run of all tests: a file that cannot be collected does not keep the others from running."""
_PLUGINS = "from importlib.metadata import entry_points\nfor each in entry_points(group='pytest11'): print(each.name)"
_FOLDER = "/opt/gem-swe"
_LIMITS = ResourceLimits(cpus=2.0, memory=4 << 30, processes=256)
_MOST_ANSWER = 256 << 20
_FIRST_CLOCK = 1_000_000_000
_CALM = 20.0
"""Seconds that an answer may come late, beyond the time limit of its run."""


class FailedTest(BaseModel):
    """Why a test failed."""

    model_config = ConfigDict(frozen=True)

    type: str = ""
    """The class of the exception, without its module."""
    message: str = ""
    frames: tuple[tuple[str, int], ...] = ()
    """Files and lines of the traceback, outermost first."""


class SuiteRun(BaseModel):
    """The outcomes of a run. What is in it comes from a stranger's code."""

    model_config = ConfigDict(frozen=True)

    exit: int = 0
    """That of pytest, after which 2 and more are no verdict on tests."""
    outcomes: dict[str, str] = Field(default_factory=dict)
    """Test → passed, failed, skipped, or that its name is too long to run it."""
    failures: dict[str, FailedTest] = Field(default_factory=dict)
    places: dict[str, tuple[Any, ...]] = Field(default_factory=dict)
    """Test → file, first line and dotted name of its function; empty where it has none."""
    broken_files: dict[str, str] = Field(default_factory=dict)
    """Test files that could not be collected → why."""
    lines: dict[str, dict[str, list[int]]] = Field(default_factory=dict)
    """File → test → the lines that it runs; the test ``""`` has those that run outside of tests."""
    modules: list[str] = Field(default_factory=list)
    """The libraries that a run with coverage imported."""
    durations: dict[str, float] = Field(default_factory=dict)
    """Test → seconds of the clock."""
    seconds: float = 0.0
    """CPU seconds of the run's own process."""
    timeout: float | None = None
    died: int | None = None
    output: str = ""

    @property
    def ended(self) -> bool:
        """Whether pytest came to its end."""
        return self.timeout is None and self.died is None

    def named(self, outcome: str) -> set[str]:
        """Return the tests with an outcome."""
        return {test for test, each in self.outcomes.items() if each == outcome}


@dataclass
class SuiteRunner:
    """A container with a package's tree, in which its tests run, each time on the tree as it was.

    Args:
        engine: the engine.
        reference: the prepared image of the set.
        tree: the package's own files.
    """

    engine: Engine
    reference: str
    tree: SourceTree
    own_digest: str | None = None
    """That of the tree of the image; see :meth:`applies`."""
    cpu_seconds: float = 0.0
    """Of all runs, without the start of the container."""
    arguments: tuple[str, ...] = TEST_ARGUMENTS
    """Those of pytest."""
    modules: list[str] = field(default_factory=list)
    """The libraries that runs find imported, so that not each of them does it; see :meth:`restart` for fewer."""
    _runs: int = 0
    _servers: dict[int, Channel] = field(default_factory=dict)
    _unread: dict[int, bytes] = field(default_factory=dict)

    def __enter__(self) -> Self:
        self._container = self.engine.start(self.reference, _LIMITS)
        try:
            self._container.put(_program(), "/opt")
            self.own_digest = self.applies(())
        except BaseException:
            self._container.remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.restart()
        self._container.remove()

    def restart(self) -> None:
        """End the programs that run tests; the next run starts a new one."""
        for channel in self._servers.values():
            channel.close()
        self._servers.clear()

    def plugins(self) -> list[str]:
        """Return the names of the plugins of pytest that are installed."""
        done = self._container.run(("python3", "-I", "-c", _PLUGINS), seconds=60, user=USER)
        return sorted(set(done.output.decode(errors="replace").split())) if done.exit_code == 0 else []

    def applies(self, patches: Collection[str]) -> str | None:
        """Return the digest of the tree with patches, which git applies in turn; None if one of them fails."""
        # Bytes count, whatever the package's .gitattributes say; and git's warnings are no part of the answer.
        script = (
            "set -e; exec 2> /dev/null; cd /tmp; if [ ! -d proof ]; then "
            f"cp -r {REPOSITORY} proof; cd proof; rm -rf .git; find . -name __pycache__ -prune -exec rm -rf {{}} +; "
            "git init -q; mkdir -p .git/info; "
            "echo '* -text -filter -ident -working-tree-encoding' > .git/info/attributes; "
            "git add -A -f .; git -c user.name=p -c user.email=p commit -q -m p; cd ..; fi; "
            "cd proof; trap 'git reset -q --hard; git clean -q -f -d -x' EXIT; "
            'i=0; while [ $i -lt "$1" ]; do '
            "[ ! -s /tmp/proof-$i.diff ] || git apply --whitespace=nowarn /tmp/proof-$i.diff; i=$((i+1)); done; "
            "git add -A -f .; git write-tree"
        )
        self._container.put(_archive({f"proof-{number}.diff": text for number, text in enumerate(patches)}), "/tmp")  # noqa: S108
        done = self._container.run(("sh", "-c", script, "sh", str(len(patches))), seconds=120, user=USER)
        return done.output.decode(errors="replace").strip() if done.exit_code == 0 else None

    def run(
        self,
        *,
        tests: Collection[str] | None = None,
        files: Collection[str] = (),
        write: Mapping[str, str | None] | None = None,
        hash_seed: int = 0,
        order: int | None = None,
        coverage: bool = False,
        locate: bool = False,
        alone: bool = False,
        seconds: float = 600.0,
        cpu_seconds: float = 600.0,
    ) -> SuiteRun:
        """Run tests.

        Args:
            tests: which ones; None for all.
            files: the files to collect them from; empty for those that the package's configuration names.
            write: files of the tree that are different in this run, by path; None removes one.
            hash_seed: ``PYTHONHASHSEED``.
            order: a seed of the order of the tests; None for that of pytest.
            coverage: whether to note which lines each test runs.
            locate: whether to note where each test stands.
            alone: whether each test runs in a process of its own, in the tree as it was. One that does not pass says
                little, and has no failure: where a file begins a thread, none of its tests run.
            seconds: the time limit, by the clock.
            cpu_seconds: that of each process, in CPU seconds, which a busy machine does not use up.

        Raises:
            SweError: if the container no longer answers.
        """
        token = secrets.token_hex(8)
        # Each run writes files of another second, whichever process makes it: no byte code of another run is taken.
        self._runs += 1
        request = {
            "token": token, "modules": self.modules, "clock": _FIRST_CLOCK + self._runs,
            "tests": None if tests is None else sorted(tests), "files": sorted(files),
            "write": dict(write or {}), "order": order, "coverage": coverage, "locate": locate, "alone": alone,
            "seconds": seconds, "cpu_seconds": cpu_seconds,
            "arguments": [*self.arguments, *NO_LOG, *(_OF_ALL if tests is None else ())], "output": False,
        }  # fmt: skip
        answer = self.ask(hash_seed, token, json.dumps(request), seconds)
        try:
            run = SuiteRun.model_validate(answer)
        except ValidationError as error:
            raise SweError(f"the tests' answer cannot be read: {error}") from error
        self.cpu_seconds += run.seconds
        return run

    def verify(self, tests: Collection[str], seconds: float) -> TestRun:
        """Run tests of the package's own tree as the verdict of an episode does, in a fresh container.

        Args:
            tests: which ones.
            seconds: the time limit, by the clock.

        Raises:
            EngineError: if the container does not start, or died.
        """
        contents = {file: self.tree.read(file) for file in {test.partition("::")[0] for test in tests}}
        written, controls = all_with_controls({
            file: text_of(content) for file, content in contents.items() if content is not None
        })  # fmt: skip
        files = {file: (text.encode(errors="surrogateescape"), 0o644) for file, text in written.items()}
        with self.engine.start(self.reference, TASK_LIMITS) as fresh:
            copy_in(fresh, (CopiedFolder(None, REPOSITORY, files),), REPOSITORY)
            return run_tests(
                fresh, tests, controls, arguments=(*self.arguments, *NO_LOG), user=USER, workdir=REPOSITORY,
                changed=(), seconds=seconds,
            )  # fmt: skip

    def ask(self, hash_seed: int, token: str, request: str, seconds: float) -> Any:
        """Send a request, and return its answer. A server that is gone is started again; its run counts as died."""
        channel = self._servers.get(hash_seed)
        if channel is None:
            channel = self._servers[hash_seed] = self._container.open(
                ("python3", "-u", f"{_FOLDER}/suite_server.py", REPOSITORY),
                user=USER, workdir=REPOSITORY,
                environment={"PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": "", "COVERAGE_CORE": "ctrace"},
            )  # fmt: skip
            self._unread[hash_seed] = b""
        deadline = time.monotonic() + seconds + _CALM + 60.0
        if channel.write(f"{request}\n".encode(), 60.0):
            buffer = self._unread[hash_seed]
            while len(buffer) < _MOST_ANSWER and (left := deadline - time.monotonic()) > 0:
                line, found, rest = buffer.partition(b"\n")
                if found:
                    buffer = rest
                    if line.startswith(f"{token} ".encode()):
                        self._unread[hash_seed] = rest
                        return _read(line[len(token) + 1 :])
                    continue
                data = channel.read(left)
                if data is None:
                    break
                buffer += data
            said = buffer.decode(errors="replace").strip()[-500:]
        else:
            said = "it reads no request"
        channel.close()
        del self._servers[hash_seed]
        return {"died": -1, "output": said}


def _read(answer: bytes) -> Any:
    try:
        return json.loads(answer)
    except (ValueError, RecursionError) as error:
        return {"died": -1, "output": f"the answer is damaged: {error}"}


def _program() -> bytes:
    """Return an archive of the program that runs in the container."""
    # Read, and not imported: it needs pytest, which is in the container alone.
    source = Path(__file__).with_name("suite_server.py").read_text(encoding="utf-8")
    return _archive({f"{PurePosixPath(_FOLDER).name}/suite_server.py": source})


def _archive(files: Mapping[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, text in files.items():
            data = text.encode()
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o644
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()
