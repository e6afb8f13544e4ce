"""One episode of an agent program: its folders, its variables, and the program itself: :class:`EpisodeRun`."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import stat
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gem_gateway.harnesses.agent_task import AgentTask
from gem_gateway.harnesses.errors import HarnessError
from gem_gateway.harnesses.harness import Harness, filled, filled_json, filled_toml
from gem_gateway.harnesses.program import AgentProgram
from gem_gateway.harnesses.table import DRIVERS

__all__ = ["EPISODE_COMMAND", "EpisodeRun", "program_variables"]

_INHERITED = ("PATH", "LANG", "LC_ALL", "TZ", "SYSTEMROOT")
"""The variables of this process that a program gets; all others, keys and proxies among them, stay here."""

_SILENT = {
    "CI": "1",
    "NO_COLOR": "1",
    "DO_NOT_TRACK": "1",
    "NO_PROXY": "*",
    "NO_UPDATE_NOTIFIER": "1",
    "PYTHONUNBUFFERED": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""Settings that many programs understand: no colours, no telemetry, no updates, no proxy before the gateway."""

EPISODE_COMMAND = "./episode"
_CLIENT = Path(__file__).parent.parent / "mcp_env" / "episode_client.py"
_LONGEST_ANSWER = 1 << 20
_GRACE_SECONDS = 5.0
"""Seconds in which a program may end by itself after it was told that the episode is over."""


class EpisodeRun:
    """A program in folders of its own, which vanish with it.

    Args:
        harness: how it is run.
        install: the folder with the program.
        task: what it is given. Its files are replaced by files in its working folder.
    """

    def __init__(self, harness: Harness, install: Path, task: AgentTask) -> None:
        self.harness = harness
        self._root = Path(tempfile.mkdtemp(prefix="gem-harness-"))
        self.home, self.work = self._root / "home", self._root / "work"
        for folder in (self.home, self.work, self._root / "tmp"):
            folder.mkdir()
        self.task = replace(task, task_file=self.work / "task.txt", answer_file=self._root / "answer.txt")
        self._values = self._placeholders(install)
        self._variables = {**program_variables(self._root), **self.task.variables()}
        self._program: AgentProgram | None = None

    @property
    def program(self) -> AgentProgram:
        """The program; only after :meth:`start`."""
        assert self._program is not None
        return self._program

    async def start(self) -> None:
        """Write the program's files and start it.

        Raises:
            HarnessError: if it cannot be started.
        """
        try:
            self._write_files()
        except (OSError, ValueError) as error:
            raise HarnessError(f"the files of {self.harness.name} cannot be written: {error}") from error
        own = {name: filled(value, self._values) for name, value in self.harness.environment.items()}
        self._program = await AgentProgram.start(
            [filled(word, self._values) for word in self.harness.command],
            folder=self.work,
            environment={**self._variables, **own},
            stdin=str(self.task.task_file) if self.harness.reads_stdin else os.devnull,
        )

    async def finish(self) -> None:
        """Let the program end by itself for a moment, and then :meth:`stop` it."""
        if self._program is not None:
            await asyncio.wait([asyncio.ensure_future(self._program.wait())], timeout=_GRACE_SECONDS)
        await self.stop()

    async def stop(self) -> None:
        """Kill the program and all that it has started, and remove its folders. Calling it twice is fine."""
        if self._program is not None:
            await self._program.stop()
        await asyncio.to_thread(_remove, self._root)

    def answer(self) -> str:
        """Return the program's final answer; empty if it gave none."""
        if self.harness.answer == "file":
            try:
                with self.task.answer_file.open("rb") as file:
                    return file.read(_LONGEST_ANSWER).decode(errors="replace").strip()
            except OSError:
                return ""
        text = self.program.output.decode(errors="replace").strip()
        if self.harness.answer == "json":
            try:
                result = json.loads(text)["result"]
            except (ValueError, KeyError, TypeError, RecursionError):
                return ""
            return result if isinstance(result, str) else ""
        return text

    def _placeholders(self, install: Path) -> dict[str, str]:
        python = sys.executable
        if self.harness.installer == "pip":
            python = str(install / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"))
        task = self.task
        return {
            "task": task.task,
            "task_file": str(task.task_file),
            "answer_file": str(task.answer_file),
            "model": task.model,
            "base_url": task.base_url,
            "anthropic_url": task.anthropic_base_url,
            "api_key": task.api_key,
            "mcp_url": task.mcp_url,
            "mcp_key": task.mcp_key,
            "home": str(self.home),
            "work": str(self.work),
            "install": str(install),
            "drivers": str(DRIVERS),
            "python": python,
            "python_path": os.pathsep.join(filter(None, [str(Path.cwd()), *sys.path])),
            "episode": EPISODE_COMMAND,
        }

    def _write_files(self) -> None:
        self.task.task_file.write_text(self.task.task, encoding="utf-8", errors="replace")
        client = self.work / EPISODE_COMMAND
        shutil.copyfile(_CLIENT, client.with_name(".episode.py"))
        interpreter, script = shlex.quote(sys.executable), shlex.quote(str(client.with_name(".episode.py")))
        client.write_text(f'#!/bin/sh\nexec {interpreter} -I {script} "$@"\n', encoding="utf-8")
        client.chmod(0o755)
        for file in self.harness.files:
            path = self.work / filled(file.path, self._values)
            path.parent.mkdir(parents=True, exist_ok=True)
            if file.toml is not None:
                text = filled_toml(file.toml, self._values)
            else:
                text = json.dumps(filled_json(file.json, self._values), indent=2)
            path.write_text(text, encoding="utf-8")


def program_variables(root: Path, inherited: Mapping[str, Any] = os.environ) -> dict[str, str]:
    """Return the variables that every program gets: of its folders, and the few that it inherits."""
    home = root / "home"
    return {
        **{name: inherited[name] for name in _INHERITED if name in inherited},
        **_SILENT,
        "HOME": str(home),
        "USERPROFILE": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "TMPDIR": str(root / "tmp"),
    }


def _remove(root: Path) -> None:
    """Remove a folder, also what a program has made unreadable."""
    for folder, _, _ in os.walk(root):
        Path(folder).chmod(stat.S_IRWXU)
    shutil.rmtree(root, ignore_errors=True)
