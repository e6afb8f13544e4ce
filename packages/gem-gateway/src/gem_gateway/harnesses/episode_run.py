"""One episode of an agent program: its files, its variables, and the program itself: :class:`EpisodeRun`."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from dataclasses import asdict
from pathlib import Path

from gem_gateway.harnesses.agent_task import AgentTask
from gem_gateway.harnesses.errors import HarnessError
from gem_gateway.harnesses.harness import Harness, Placeholders, filled, filled_json, filled_toml
from gem_gateway.harnesses.place import PlacedFile, ProgramPlace, RunningProgram

__all__ = ["EpisodeRun"]

_CLIENT = Path(__file__).parent.parent / "mcp_env" / "episode_client.py"
_GRACE_SECONDS = 5.0
"""Seconds in which a program may end by itself after it was told that the episode is over."""


class EpisodeRun:
    """A program in a place of its own.

    Args:
        harness: how it is run.
        place: where, made ready; the caller removes it, after the servers that accept from its sockets.
        task: what it is given.
    """

    def __init__(self, harness: Harness, place: ProgramPlace, task: AgentTask) -> None:
        self.harness = harness
        self.place = place
        self.task = task
        self._program: RunningProgram | None = None

    @property
    def program(self) -> RunningProgram:
        """The program; only after :meth:`start`."""
        assert self._program is not None
        return self._program

    async def start(self) -> None:
        """Write the program's files and start it.

        Raises:
            HarnessError: if it cannot be started.
        """
        values = self._placeholders()
        own = {name: filled(value, values) for name, value in self.harness.environment.items()}
        self._program = await self.place.start(
            self._files(values),
            [filled(word, values) for word in self.harness.command],
            {**self.place.variables(), **self.task.variables(), **own},
            reads_task=self.harness.reads_stdin,
        )

    async def finish(self) -> None:
        """Let the program end by itself for a moment, and then :meth:`stop` it."""
        if self._program is not None:
            await asyncio.wait([asyncio.ensure_future(self._program.wait())], timeout=_GRACE_SECONDS)
        await self.stop()

    async def stop(self) -> None:
        """Kill the program. Calling it twice is fine."""
        if self._program is not None:
            await self._program.stop()

    def answer(self) -> str:
        """Return the program's final answer; empty if it gave none."""
        if self.harness.answer == "file":
            return self.place.answer().strip()
        text = self.program.output.decode(errors="replace").strip()
        if self.harness.answer == "json":
            try:
                result = json.loads(text)["result"]
            except (ValueError, KeyError, TypeError, RecursionError):
                return ""
            return result if isinstance(result, str) else ""
        return text

    def _placeholders(self) -> dict[str, str]:
        task, paths = self.task, self.place.paths
        return asdict(
            Placeholders(
                task=task.task,
                task_file=str(task.task_file),
                answer_file=str(task.answer_file),
                model=task.model,
                base_url=task.base_url,
                anthropic_url=task.anthropic_base_url,
                gemini_url=task.gemini_base_url,
                api_key=task.api_key,
                mcp_url=task.mcp_url,
                mcp_key=task.mcp_key,
                home=paths.home,
                work=paths.work,
                install=paths.install,
                drivers=paths.drivers,
                python=paths.python,
                python_path=os.pathsep.join(filter(None, [str(Path.cwd()), *sys.path])),
                episode=paths.episode,
            )
        )

    def _files(self, values: dict[str, str]) -> dict[str, PlacedFile]:
        paths = self.place.paths
        script = f"{paths.work}/.episode.py"
        started = f'#!/bin/sh\nexec {shlex.quote(paths.client_python)} -I {shlex.quote(script)} "$@"\n'
        files = {
            paths.task_file: PlacedFile(self.task.task),
            script: PlacedFile(_CLIENT.read_text(encoding="utf-8")),
            f"{paths.work}/episode": PlacedFile(started, 0o755),
        }
        for file in self.harness.files:
            try:
                if file.toml is not None:
                    text = filled_toml(file.toml, values)
                else:
                    text = json.dumps(filled_json(file.json, values), indent=2)
            except ValueError as error:
                raise HarnessError(f"the file {file.path} of {self.harness.name} cannot be made: {error}") from error
            files[filled(file.path, values)] = PlacedFile(text)
        return files
