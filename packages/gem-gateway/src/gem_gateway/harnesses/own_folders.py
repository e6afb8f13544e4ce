"""A place on this machine, with folders of its own: :class:`OwnFolders`."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from gem_gateway.harnesses.errors import HarnessError
from gem_gateway.harnesses.harness import Harness
from gem_gateway.harnesses.place import SILENT, PlacedFile, PlacePaths, ProgramPlace
from gem_gateway.harnesses.program import AgentProgram
from gem_gateway.harnesses.table import DRIVERS

__all__ = ["OwnFolders"]

_INHERITED = ("PATH", "LANG", "LC_ALL", "TZ", "SYSTEMROOT")
"""The variables of this process that a program gets; all others, keys and proxies among them, stay here."""

_LONGEST_ANSWER = 1 << 20


class OwnFolders(ProgramPlace):
    """Folders for home, work and temporary files, which vanish with the program; otherwise it is not confined.

    Args:
        harness: how the program is run.
        install: the folder with the program.
    """

    name = "none"

    def __init__(self, harness: Harness, install: Path) -> None:
        self._root = Path(tempfile.mkdtemp(prefix="gem-harness-"))
        home, work = self._root / "home", self._root / "work"
        for folder in (home, work, self._root / "tmp"):
            folder.mkdir()
        python = sys.executable
        if harness.installer == "pip":
            python = str(install / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"))
        self.paths = PlacePaths(
            home=str(home),
            work=str(work),
            answer_file=str(self._root / "answer.txt"),
            install=str(install),
            drivers=str(DRIVERS),
            python=python,
            client_python=sys.executable,
            episode="./episode",
        )

    def variables(self) -> Mapping[str, str]:
        home = self.paths.home
        return {
            **{name: os.environ[name] for name in _INHERITED if name in os.environ},
            **SILENT,
            "NO_PROXY": "*",  # no proxy stands before the gateway
            "HOME": home,
            "USERPROFILE": home,
            "XDG_CONFIG_HOME": f"{home}/.config",
            "XDG_CACHE_HOME": f"{home}/.cache",
            "XDG_DATA_HOME": f"{home}/.local/share",
            "XDG_STATE_HOME": f"{home}/.local/state",
            "TMPDIR": str(self._root / "tmp"),
        }

    async def start(
        self,
        files: Mapping[str, PlacedFile],
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        reads_task: bool,
    ) -> AgentProgram:
        work = Path(self.paths.work)
        try:
            for name, file in files.items():
                path = work / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(file.text, encoding="utf-8", errors="replace")
                path.chmod(file.mode)
        except (OSError, ValueError) as error:
            raise HarnessError(f"the files of the program cannot be written: {error}") from error
        stdin = self.paths.task_file if reads_task else os.devnull
        return await AgentProgram.start(command, folder=work, environment=environment, stdin=stdin)

    def answer(self) -> str:
        try:
            with Path(self.paths.answer_file).open("rb") as file:
                return file.read(_LONGEST_ANSWER).decode(errors="replace")
        except OSError:
            return ""

    async def remove(self) -> None:
        await asyncio.to_thread(_remove, self._root)


def _remove(root: Path) -> None:
    """Remove a folder, also what a program has made unreadable."""
    for folder, _, _ in os.walk(root):
        Path(folder).chmod(stat.S_IRWXU)
    shutil.rmtree(root, ignore_errors=True)
