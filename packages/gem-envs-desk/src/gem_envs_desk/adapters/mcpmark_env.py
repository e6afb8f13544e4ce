"""The file system's tasks of MCPMark, from a checkout of the user: :class:`McpMarkEnv`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

from gem.arguments import choice
from gem.errors import ArgumentError
from gem_envs_desk.adapters.mcpmark_tasks import McpMarkTask, mcpmark_tasks
from gem_envs_desk.mcp.folder_tools import FOLDER_WRITING_TOOLS, folder_tools
from gem_envs_desk.mcp.folder_workspace import FolderWorkspace
from gem_envs_desk.mcp.tool_env import WorkspaceEnv, WorkspaceFaultError

__all__ = ["McpMarkEnv"]

_SERVICE = "filesystem"
_REFUSED = {
    "postgres": "its initial databases are dumps that its site serves, and its verifiers log in as superuser",
    "github": "it needs an account of GitHub",
    "notion": "it needs an account of Notion",
    "playwright": "it needs websites of the internet",
    "playwright_webarena": "it needs the websites of WebArena",
    "supabase": "it needs a server of Supabase",
    "insforge": "it needs a server of InsForge",
}
_VERIFY_SECONDS = 300
"""As long as MCPMark waits."""

_INSTRUCTIONS = """The test directory is a folder; paths are relative to it. {tools}

When the task is done, end with <answer>done</answer>. You have {turns} turns.

{task}"""


class McpMarkEnv(WorkspaceEnv):
    """One task of MCPMark's file system service per episode, verified by the task's own program.

    ``description.md`` is the task, each episode gets a copy of the category's initial folder, and at the end
    ``verify.py`` runs on it in a process. The reward is 1.0 if its exit status is 0, else 0.0; :attr:`verification` has
    what it printed. Nothing of MCPMark is part of this package. ``verify.py`` runs unconfined, so the checkout must be
    one that you trust.

    The reset option ``task``, an int, chooses a task by its place in the sorted list, modulo its length.

    Args:
        path: the folder of the checkout of https://github.com/eval-sys/mcpmark.
        service: ``"filesystem"``. Other services cannot be played offline and are refused with the reason.
        suite: ``"standard"`` or ``"easy"``.
        category: a category, such as ``"papers"``; None for all.
        environments: where the initial folders are, one for each category; by default ``test_environments`` of the
            checkout, into which MCPMark itself downloads them.
        python: the interpreter that runs ``verify.py``, such as the one of the checkout's virtual environment.
        max_turns: turns of an episode.
        own_tools: whether the agent has the file tools of this package. Otherwise it works through the wrapper
            ``mcp_tool`` with a server on ``${episode.folder}``.

    Raises:
        ArgumentError: for a service that cannot be played; and at the first reset, for what is missing in the checkout.
    """

    workspace_values: ClassVar[tuple[str, ...]] = ("folder",)
    _writing: ClassVar[frozenset[str]] = FOLDER_WRITING_TOOLS

    def __init__(
        self,
        path: str | None = None,
        service: str = _SERVICE,
        suite: str = "standard",
        category: str | None = None,
        environments: str | None = None,
        python: str = sys.executable,
        max_turns: int = 100,
        own_tools: bool = True,
    ) -> None:
        super().__init__(max_turns, own_tools)
        if service in _REFUSED:
            raise ArgumentError(f"service={service!r} cannot be played offline: {_REFUSED[service]}")
        self.service = choice("service", service, (_SERVICE,))
        self.suite = choice("suite", suite, ("standard", "easy"))
        self.path, self.category, self.environments, self.python = path, category, environments, python
        self.verification = ""
        self._tasks: tuple[McpMarkTask, ...] = ()

    @property
    def task_names(self) -> tuple[str, ...]:
        """The names of the tasks, category and task."""
        return tuple(task.name for task in self._listed())

    def _listed(self) -> tuple[McpMarkTask, ...]:
        if not self._tasks:
            if self.path is None:
                raise ArgumentError(
                    "mcp:MCPMark-v0 plays a checkout of MCPMark of your own: clone https://github.com/eval-sys/mcpmark "
                    "and give path= its folder"
                )
            checkout = Path(self.path).expanduser().absolute()
            folder = checkout / "test_environments"
            if self.environments is not None:
                folder = Path(self.environments).expanduser().absolute()
            self._tasks = mcpmark_tasks(checkout, self.suite, self.category, folder)
        return self._tasks

    def _draw(self, number: int) -> McpMarkTask:
        tasks = self._listed()
        return tasks[number % len(tasks)]

    def _make_workspace(self, task: McpMarkTask) -> FolderWorkspace:
        return FolderWorkspace.copy_of(task.start)

    def _is_achieved(self, task: McpMarkTask, workspace: FolderWorkspace) -> bool:
        values = {"FILESYSTEM_TEST_DIR": workspace.folder, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONIOENCODING": "utf-8"}
        try:
            done = subprocess.run(  # noqa: S603  # the checkout and the interpreter that the user names
                [self.python, task.verifier], cwd=task.verifier.parent, env={**os.environ, **values},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=_VERIFY_SECONDS,
                check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise WorkspaceFaultError(f"the verification of {task.name} gives no verdict: {error}") from error
        self.verification = done.stdout.decode(errors="replace")
        return done.returncode == 0

    def _tool_functions(self) -> tuple[Any, ...]:
        return folder_tools()

    def _instructions(self) -> str:
        return _INSTRUCTIONS.format(tools=self._tool_instructions(), turns=self.max_turns, task=self._task.text)
