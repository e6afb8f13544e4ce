"""Environments that leave something behind in the process, or change it."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
import threading
import warnings
from pathlib import Path
from typing import Any

from gem.core import Info
from planted_envs.healthy import Sums

RELEASE = threading.Event()
DESCRIPTORS: list[int] = []
CHILDREN: list[subprocess.Popen[bytes]] = []


def clean_up() -> None:
    """End and close what instances have left in this process; for the tests alone."""
    RELEASE.set()
    for child in CHILDREN:
        child.communicate()
    for descriptor in DESCRIPTORS:
        os.close(descriptor)
    CHILDREN.clear()
    DESCRIPTORS.clear()


class Littering(Sums):
    """Does something to the process at each reset with the seed 1, so that few runs of the tests do it often."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        result = super().reset(seed=seed, options=options)
        if seed == 1:
            self._litter()
        return result

    def _litter(self) -> None:
        raise NotImplementedError


class LeavesThread(Littering):
    """It leaves a thread that waits for ever."""

    def _litter(self) -> None:
        RELEASE.clear()
        threading.Thread(target=RELEASE.wait, daemon=True, name="left behind").start()


class LeavesDescriptor(Littering):
    """It leaves a file open."""

    def _litter(self) -> None:
        DESCRIPTORS.append(os.open(os.devnull, os.O_RDONLY))


class LeavesChild(Littering):
    """It leaves a child process."""

    def _litter(self) -> None:
        # It reads a pipe that only this process holds, so it ends with it.
        CHILDREN.append(subprocess.Popen(["cat"], stdin=subprocess.PIPE))


class ChangesDirectory(Littering):
    """It changes the working directory."""

    def _litter(self) -> None:
        os.chdir(Path(__file__).parent)


class ChangesEnvironment(Littering):
    """It sets an environment variable."""

    def _litter(self) -> None:
        os.environ["TOKENIZERS_PARALLELISM"] = "false"


class Prints(Littering):
    """It prints what a debugger wanted to know."""

    def _litter(self) -> None:
        print("question:", self._question)


class WritesPastPython(Littering):
    """It writes to the standard output past Python, as a library in C does."""

    def _litter(self) -> None:
        os.write(1, b"loading the lexicon\n")


class WarnsOnStandardError(Littering):
    """It tells its progress on the standard error."""

    def _litter(self) -> None:
        sys.stderr.write("100%|##########|\n")


class LeavesFile(Littering):
    """It leaves a temporary file."""

    def _litter(self) -> None:
        with tempfile.NamedTemporaryFile(prefix="left-behind-", delete=False) as file:
            file.write(b"scratch")


class WritesHere(Littering):
    """It writes a log into the working directory."""

    def _litter(self) -> None:
        Path("episodes.log").write_text("one more\n", encoding="utf-8")


class SilencesWarnings(Littering):
    """It silences the warnings of the whole process."""

    def _litter(self) -> None:
        warnings.simplefilter("ignore")


class RaisesRecursionLimit(Littering):
    """It raises the recursion limit."""

    def _litter(self) -> None:
        sys.setrecursionlimit(sys.getrecursionlimit() + 5000)


class ConfiguresLogging(Littering):
    """It gives the root logger a handler."""

    def _litter(self) -> None:
        logging.root.addHandler(logging.NullHandler())


class ExtendsPath(Littering):
    """It puts its folder on sys.path."""

    def _litter(self) -> None:
        sys.path.append(str(Path(__file__).parent))
