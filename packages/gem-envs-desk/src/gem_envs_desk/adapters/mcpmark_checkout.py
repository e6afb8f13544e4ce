"""The base of environments that play a checkout of MCPMark: :class:`McpMarkCheckoutEnv`."""

from __future__ import annotations

import os
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem.arguments import choice
from gem.errors import ArgumentError
from gem_envs_desk.adapters.mcpmark_tasks import McpMarkTask
from gem_envs_desk.mcp.tool_env import WorkspaceEnv, WorkspaceFaultError

__all__ = ["McpMarkCheckoutEnv"]

_VERIFY_SECONDS = 300
"""As long as MCPMark waits."""


class McpMarkCheckoutEnv(WorkspaceEnv, ABC):
    """One task of a service of MCPMark per episode, verified by the task's own program.

    A subclass names the tasks, makes a workspace, and says what ``verify.py`` finds in its process. The reset option
    ``task``, an int, chooses a task by its place in the sorted list, modulo its length.

    Args:
        path: the folder of the checkout of https://github.com/eval-sys/mcpmark.
        suite: ``"standard"`` or ``"easy"``.
        category: a category, such as ``"papers"``; None for all.
        python: the interpreter that runs the programs of tasks, such as the one of the checkout's virtual environment.
        max_turns: turns of an episode.
        own_tools: whether the agent has the tools of this package.

    Raises:
        ArgumentError: at the first reset, for what is missing.
    """

    def __init__(
        self,
        path: str | None = None,
        suite: str = "standard",
        category: str | None = None,
        python: str = sys.executable,
        max_turns: int = 100,
        own_tools: bool = True,
    ) -> None:
        super().__init__(max_turns, own_tools)
        self.suite = choice("suite", suite, ("standard", "easy"))
        self.path, self.category, self.python = path, category, python
        self.verification = ""
        """What the last ``verify.py`` printed."""
        self._tasks: tuple[McpMarkTask, ...] = ()

    @property
    def task_names(self) -> tuple[str, ...]:
        """The names of the tasks, category and task."""
        return tuple(task.name for task in self._listed())

    @abstractmethod
    def _find_tasks(self, checkout: Path) -> tuple[McpMarkTask, ...]:
        """Return the tasks."""

    def _listed(self) -> tuple[McpMarkTask, ...]:
        if not self._tasks:
            if self.path is None:
                raise ArgumentError(
                    "the tasks are those of a checkout of MCPMark of your own: clone "
                    "https://github.com/eval-sys/mcpmark and give path= its folder"
                )
            self._tasks = self._find_tasks(Path(self.path).expanduser().absolute())
        return self._tasks

    def _draw(self, number: int) -> McpMarkTask:
        tasks = self._listed()
        return tasks[number % len(tasks)]

    def _verified(self, task: McpMarkTask, values: Mapping[str, str], *arguments: str) -> bool:
        """Return the verdict of ``verify.py``, which runs with variables of the environment in the task's folder."""
        variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONIOENCODING": "utf-8", **values}
        try:
            done = subprocess.run(  # noqa: S603  # the checkout and the interpreter that the user names
                [self.python, task.folder / "verify.py", *arguments], cwd=task.folder, env=variables,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=_VERIFY_SECONDS,
                check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise WorkspaceFaultError(f"the verification of {task.name} gives no verdict: {error}") from error
        self.verification = done.stdout.decode(errors="replace")
        return done.returncode == 0

    def _described(self, frame: str) -> str:
        """Return the first observation: the frame with tools, turns and the task, whose text may hold braces."""
        fields: dict[str, Any] = {"tools": self._tool_instructions(), "turns": self.max_turns, "task": self._task.text}
        return frame.format(**fields)
