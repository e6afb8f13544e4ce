"""Runs the tests of a package of ours as in a container, without one: the same program, on a copy of the tree."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any, cast

from gem_envs_swe.making import suites
from gem_envs_swe.making.suites import SuiteRunner
from gem_envs_swe.task_set import REPOSITORY
from gem_envs_swe.verdicts.test_runs import TestRun
from gem_envs_swe.workplace.source_tree import SourceTree
from gem_terminal.engines import Engine

__all__ = ["LocalSuites"]


class LocalSuites(SuiteRunner):
    """The runs of a tree on this machine, whose paths are written as those of a container."""

    def __init__(self, tree: Path, scratch: Path) -> None:
        super().__init__(cast(Engine, None), "", SourceTree(tree))
        self._tree, self.scratch = tree, scratch
        self._copy = scratch / "tree"
        self._programs: dict[int, subprocess.Popen[str]] = {}
        shutil.copytree(tree, self._copy)
        self.own_digest = self.applies(())

    def __enter__(self) -> LocalSuites:
        return self

    def __exit__(self, *_: object) -> None:
        self.restart()

    def restart(self) -> None:
        """End the programs."""
        for program in self._programs.values():
            with program:
                program.kill()
        self._programs.clear()

    def applies(self, patches: Collection[str]) -> str | None:
        """Return the texts of the tree with patches."""
        copy = self.scratch / "proof"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self._tree, copy)
        environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(self.scratch)}
        for patch in filter(None, patches):
            done = subprocess.run(["git", "apply", "-"], input=patch.encode(), cwd=copy, env=environment, check=False)
            if done.returncode != 0:
                return None
        return repr(
            sorted((str(path.relative_to(copy)), path.read_bytes()) for path in copy.rglob("*") if path.is_file())
        )

    def plugins(self) -> list[str]:
        """Return the names of the plugins of pytest that the environment names."""
        return ["harmless", *filter(None, os.environ.get("PYTEST_PLUGINS", "").split(","))]

    def verify(self, tests: Collection[str], seconds: float) -> TestRun:
        """Run tests; the program of verdicts needs a container."""
        files = {test.partition("::")[0] for test in tests}
        return TestRun(self.run(tests=tests, files=files, seconds=seconds).outcomes)

    def ask(self, hash_seed: int, token: str, request: str, seconds: float) -> Any:
        """Send a request to the program of a hash seed, and return its answer."""
        if hash_seed not in self._programs:
            self._programs[hash_seed] = subprocess.Popen(
                [sys.executable, str(Path(suites.__file__).with_name("suite_server.py")), str(self._copy)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                     "COVERAGE_CORE": "ctrace"},
            )  # fmt: skip
        program = self._programs[hash_seed]
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(f"{request}\n")
        program.stdin.flush()
        for line in program.stdout:
            if line.startswith(f"{token} "):
                return json.loads(line.removeprefix(f"{token} ").replace(os.path.realpath(self._copy), REPOSITORY))
        raise AssertionError(f"the program ended with {program.wait()}")
