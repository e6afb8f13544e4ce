"""Runs the tests of a package, many times: the program that :mod:`gem_envs_swe.making.suites` starts in a container.

It imports pytest once, and the libraries that a request names, and forks for each run. Requests and answers are JSON
lines; an answer begins with the token of its request, so that nothing which a test prints can pass for one. Tracebacks
are noted without pytest's own, which parses the file of each frame anew. It needs the standard library, pytest and
coverage.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import inspect
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import _pytest
import pluggy
import pytest
from _pytest.config import default_plugins

_MOST_TEXT = 4000
"""Characters of a message that are kept."""
_LONGEST_NAME = 1000
"""Characters of a test's name; pytest writes whole arguments into it, and one of 10 MB is in use."""
_OF_PYTEST = tuple(f"{each.__path__[0]}/" for each in (_pytest, pluggy))
_IMPORT_SECONDS = 60.0
"""How long the imports of libraries may take before they are left to the runs."""
_CAN_FORK = 42
"""The exit code of a process that imported them and has no further thread."""
_PASSED = 43
"""The exit code of a process in which a test passed alone."""
_ALONE_SECONDS = 60.0
"""How long a test alone may take, by the clock."""


class _Reporter:
    """The plugin that selects and orders the tests of a run, and notes their outcomes.

    Args:
        request: ``tests`` to run, None for all; ``order``, a seed, None for that of pytest; ``locate``, whether to note
            where each test stands; ``alone``, whether each test runs in a process of its own.
        coverage: measures which lines each test runs; None to leave that out.
        renew: makes tree and home as they were, between tests that run alone.
    """

    def __init__(self, request: dict[str, Any], coverage: Any, renew: Callable[[], None]) -> None:
        self.request, self.coverage, self.renew = request, coverage, renew
        self.outcomes: dict[str, str] = {}
        self.durations: dict[str, float] = {}
        self.failures: dict[str, dict[str, Any]] = {}
        self.places: dict[str, list[Any]] = {}
        self.broken_files: dict[str, str] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        wanted = self.request["tests"]
        if wanted is None:
            long = [item.nodeid for item in items if len(item.nodeid) > _LONGEST_NAME]
            self.outcomes |= {f"{name[:_LONGEST_NAME]}… ({len(name):,} characters)": "too long a name" for name in long}
            items[:] = [item for item in items if len(item.nodeid) <= _LONGEST_NAME]
        else:
            chosen = set(wanted)
            items[:] = [item for item in items if item.nodeid in chosen]
        if self.request["order"] is not None:
            by_file: dict[str, list[pytest.Item]] = {}
            for item in items:
                by_file.setdefault(item.nodeid.partition("::")[0], []).append(item)
            generator = random.Random(self.request["order"])
            files = list(by_file.values())
            generator.shuffle(files)
            for file in files:
                generator.shuffle(file)
            items[:] = [item for file in files for item in file]
        if self.request["locate"]:
            for item in items:
                self.places[item.nodeid] = _place(item)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.broken_files[report.nodeid] = str(report.longrepr)[-_MOST_TEXT:]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if not self.request["alone"]:
            return None
        # A fork has no threads but its own; which tests need one that a collected file began is not known.
        for item in session.items if threading.active_count() == 1 else ():
            self.outcomes[item.nodeid] = "passed" if self._passes_alone(item) else "failed"
            self.renew()
        return True

    def _passes_alone(self, item: pytest.Item) -> bool:
        child = os.fork()
        if child == 0:
            code = 0
            try:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
                code = _PASSED if self.outcomes.get(item.nodeid) == "passed" else 0
            finally:
                os._exit(code)
        ended = _wait(child, _ALONE_SECONDS)
        if ended is None:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        return ended is not None and os.waitstatus_to_exitcode(ended) == _PASSED

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if self.coverage is not None:
            self.coverage.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        before = self.outcomes.get(report.nodeid)
        self.durations[report.nodeid] = self.durations.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.outcomes[report.nodeid] = "failed"
            if report.nodeid not in self.failures:
                self.failures[report.nodeid] = getattr(report, "failure", {})
        elif report.skipped and before != "failed":
            self.outcomes[report.nodeid] = "skipped"
        elif report.when == "call" and before is None:
            self.outcomes[report.nodeid] = "passed"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Any:
        report = yield
        if call.excinfo is not None and report.failed:
            report.failure = {
                "type": call.excinfo.type.__name__, "message": _text(call.excinfo.value)[:_MOST_TEXT],
                "frames": _frames(call.excinfo.traceback),
            }  # fmt: skip
        return report


def _text(value: object) -> str:
    try:
        return str(value)
    except Exception as error:
        return f"<{type(error).__name__} while it was printed>"


def _frames(traceback: Any) -> list[list[Any]]:
    """Return the files and lines of a traceback, outermost first, without those of pytest."""
    return [[str(entry.path), entry.lineno + 1] for entry in traceback if not str(entry.path).startswith(_OF_PYTEST)]


def _place(item: pytest.Item) -> list[Any]:
    """Return the file, the first line and the dotted name of the function of a test, as far as it has one."""
    function = getattr(item, "function", None)
    try:
        function = inspect.unwrap(function)  # type: ignore[arg-type]
        code = function.__code__
        return [os.path.realpath(code.co_filename), code.co_firstlineno, function.__qualname__]
    except Exception:
        return []


def _run(request: dict[str, Any], tree: _Tree, home: _Home) -> None:
    """Run tests in this process, which is a fork, and write the result."""
    measured = None
    if request["coverage"]:
        import coverage

        measured = coverage.Coverage(data_file=None, include=[f"{tree.folder}/*"], config_file=False)
        measured.set_option("run:disable_warnings", ["no-data-collected"])  # pytest says that
        measured.start()

    def renew() -> None:
        tree.restore()
        home.empty()

    reporter = _Reporter(request, measured, renew)
    began = time.process_time()
    exit_code = int(pytest.main([*request["arguments"], *request["files"]], plugins=[reporter]))
    seconds = time.process_time() - began
    result: dict[str, Any] = {
        "exit": exit_code, "outcomes": reporter.outcomes, "failures": reporter.failures, "places": reporter.places,
        "broken_files": reporter.broken_files, "seconds": seconds, "durations": reporter.durations,
    }  # fmt: skip
    if measured is not None:
        measured.stop()
        result["lines"] = _lines_by_test(measured.get_data(), tree.folder)
        result["modules"] = _libraries(tree.folder)
    (home.scratch / "result.json").write_text(json.dumps(result))


def _libraries(tree: Path) -> list[str]:
    """Return the modules from outside of the tree, in the order in which they were imported."""
    inside = f"{tree}/"
    origins = {name: getattr(getattr(module, "__spec__", None), "origin", None) for name, module in sys.modules.items()}
    return [
        name for name, origin in origins.items()
        if isinstance(origin, str) and origin.startswith("/") and not origin.startswith(inside) and name != "__main__"
    ]  # fmt: skip


def _lines_by_test(data: Any, tree: Path) -> dict[str, dict[str, list[int]]]:
    """Return file → test → lines; the test ``""`` has the lines that ran outside of tests."""
    found: dict[str, dict[str, list[int]]] = {}
    for path in data.measured_files():
        by_test: dict[str, list[int]] = {}
        for line, tests in data.contexts_by_lineno(path).items():
            for test in tests:
                by_test.setdefault(test, []).append(line)
        found[os.path.relpath(path, tree)] = by_test
    return found


class _Tree:
    """A tree that every run finds as it was, but for the files of its request.

    Args:
        folder: the tree, which is copied.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._clean = Path(tempfile.mkdtemp(prefix="clean-")) / "tree"
        shutil.copytree(folder, self._clean, symlinks=True)
        self._known = self._state()

    def change(self, files: dict[str, str | None], clock: int) -> None:
        """Write files, or remove those whose content is None; ``clock``, in seconds, is their time of change."""
        for name, text in files.items():
            path = self.folder / name
            if text is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("w", encoding="utf-8", newline="") as file:
                file.write(text)
            os.utime(path, (clock, clock))

    def restore(self) -> bool:
        """Make the tree as it was; return whether anything in it was different."""
        state = self._state()
        different = {path for path in state.keys() | self._known.keys() if state.get(path) != self._known.get(path)}
        for name in sorted(different, reverse=True):
            path, clean = self.folder / name, self._clean / name
            if path.is_dir() and not path.is_symlink():
                if not clean.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
            elif os.path.lexists(path):
                path.unlink()
        for name in sorted(different):
            path, clean = self.folder / name, self._clean / name
            if clean.is_dir() and not clean.is_symlink():
                path.mkdir(exist_ok=True)
            elif os.path.lexists(clean):
                shutil.copy2(clean, path, follow_symlinks=False)
        return bool(different)

    def _state(self) -> dict[str, tuple[int, int]]:
        state = {}
        waiting = [str(self.folder)]
        while waiting:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.name in ("__pycache__", ".git"):
                        continue
                    is_folder = entry.is_dir(follow_symlinks=False)
                    found = entry.stat(follow_symlinks=False)
                    state[os.path.relpath(entry.path, self.folder)] = (
                        (0, 0) if is_folder else (found.st_mtime_ns, found.st_size)
                    )
                    if is_folder:
                        waiting.append(entry.path)
        return state


class _Home:
    """The folder that is ``HOME`` and ``TMPDIR`` of every run, which finds it empty.

    Libraries that are imported before may remember where it is.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="home-"))
        os.environ["TMPDIR"] = os.environ["HOME"] = str(self.folder)
        self.scratch = Path(tempfile.mkdtemp(prefix="run-", dir=self.folder.parent))
        tempfile.tempdir = None

    def begin(self) -> None:
        """Make it, and the folder of a run's result, empty."""
        self.empty()
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(exist_ok=True)

    def empty(self) -> None:
        """Make it empty."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(exist_ok=True)


class _Imports:
    """The libraries that runs find imported."""

    def __init__(self) -> None:
        self._asked: list[str] = []

    def add(self, names: list[str]) -> None:
        """Import modules that can be, unless one ends the process or begins a thread, which no fork has."""
        if names == self._asked:
            return
        self._asked = names
        child = os.fork()
        if child == 0:
            os.setsid()
            _import(names)
            os._exit(_CAN_FORK if threading.active_count() == 1 else 0)
        ended = _wait(child, _IMPORT_SECONDS)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        if ended is None:
            os.waitpid(child, 0)
        elif os.waitstatus_to_exitcode(ended) == _CAN_FORK:
            _import(names)
            _freeze()


def _import(names: list[str]) -> None:
    for name in names:
        with contextlib.suppress(BaseException):
            importlib.import_module(name)


def _freeze() -> None:
    """Leave alone what is here already in the collections of a fork, of which pytest makes several."""
    gc.collect()
    gc.freeze()


def _answer(request: dict[str, Any], tree: _Tree, home: _Home, answers: int) -> dict[str, Any]:
    """Fork for a run, and return its result; ``{"timeout": …}`` or ``{"died": …}`` if there is none.

    Args:
        request: of the run.
        tree: as it was.
        home: for the run.
        answers: the descriptor of the answers, which the run must not write to.
    """
    scratch = home.scratch
    home.begin()
    try:
        tree.change(request["write"], request["clock"])
        child = os.fork()
        if child == 0:
            _child(request, tree, home, answers)
        ended = _wait(child, request["seconds"])
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        if ended is None:
            os.waitpid(child, 0)
            return {"timeout": request["seconds"]}
        try:
            result: dict[str, Any] = json.loads((scratch / "result.json").read_bytes())
        except (OSError, ValueError):
            return {"died": ended, "output": _end_of(scratch / "output")}
        if request["output"] or result["exit"] not in (0, 1):
            result["output"] = _end_of(scratch / "output")
        return result
    finally:
        tree.restore()


def _child(request: dict[str, Any], tree: _Tree, home: _Home, answers: int) -> None:
    try:
        os.setsid()
        os.close(answers)
        output = os.open(home.scratch / "output", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        limit = int(request["cpu_seconds"]) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
        resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, 64 << 20))
        os.chdir(tree.folder)
        sys.path.insert(0, str(tree.folder))
        _run(request, tree, home)
        sys.stdout.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(0)


def _wait(child: int, seconds: float) -> int | None:
    """Return the status of a process, or None if it still runs after some seconds of the clock."""
    descriptor = os.pidfd_open(child)
    try:
        import select

        if not select.select([descriptor], [], [], seconds)[0]:
            return None
        return os.waitpid(child, 0)[1]
    finally:
        os.close(descriptor)


def _end_of(path: Path) -> str:
    try:
        return path.read_bytes()[-_MOST_TEXT:].decode(errors="replace")
    except OSError:
        return ""


def main() -> None:
    """Answer requests until the input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tree", type=Path)
    tree = _Tree(parser.parse_args().tree.resolve())
    sys.argv[1:] = []
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
        _import([f"_pytest.{name}" for name in default_plugins])
        _freeze()
        _serve(tree, answers)


def _serve(tree: _Tree, answers: TextIO) -> None:
    home, imports = _Home(), _Imports()
    for line in sys.stdin:
        request = json.loads(line)
        imports.add(request["modules"])
        answers.write(f"{request['token']} {json.dumps(_answer(request, tree, home, answers.fileno()))}\n")
        answers.flush()


if __name__ == "__main__":
    main()
