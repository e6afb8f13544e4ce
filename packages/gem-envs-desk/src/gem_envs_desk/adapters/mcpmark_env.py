"""The file system's tasks of MCPMark, from a checkout of the user: :class:`McpMarkEnv`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar

from gem.arguments import choice
from gem.errors import ArgumentError
from gem_envs_desk.adapters.mcpmark_checkout import McpMarkCheckoutEnv
from gem_envs_desk.adapters.mcpmark_tasks import McpMarkTask, file_tasks
from gem_envs_desk.mcp.folder_tools import FOLDER_WRITING_TOOLS, folder_tools
from gem_envs_desk.mcp.folder_workspace import FolderWorkspace

__all__ = ["McpMarkEnv"]

_SERVICE = "filesystem"
_REFUSED = {
    "postgres": "its tasks are those of mcp:MCPMarkPostgres-v0",
    "github": "it needs an account of GitHub, and cannot be played offline",
    "notion": "it needs an account of Notion, and cannot be played offline",
    "playwright": "it needs websites of the internet, and cannot be played offline",
    "playwright_webarena": "it needs the websites of WebArena, and cannot be played offline",
    "supabase": "it needs a server of Supabase, and cannot be played offline",
    "insforge": "it needs a server of InsForge, and cannot be played offline",
}

_INSTRUCTIONS = """The test directory is a folder; paths are relative to it. {tools}

When the task is done, end with <answer>done</answer>. You have {turns} turns.

{task}"""


class McpMarkEnv(McpMarkCheckoutEnv):
    """One task of MCPMark's file system service per episode, verified by the task's own program.

    ``description.md`` is the task, each episode gets a copy of the category's initial folder, and at the end
    ``verify.py`` runs on it in a process. The reward is 1.0 if its exit status is 0, else 0.0; :attr:`verification` has
    what it printed. Nothing of MCPMark is part of this package. ``verify.py`` runs unconfined, so the checkout must be
    one that you trust.

    The reset option ``task``, an int, chooses a task by its place in the sorted list, modulo its length.

    Args:
        path: the folder of the checkout of https://github.com/eval-sys/mcpmark.
        service: ``"filesystem"``. Other services are refused with the reason.
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
        super().__init__(path, suite, category, python, max_turns, own_tools)
        if service in _REFUSED:
            raise ArgumentError(f"service={service!r} is not played here: {_REFUSED[service]}")
        self.service = choice("service", service, (_SERVICE,))
        self.environments = environments

    def _find_tasks(self, checkout: Path) -> tuple[McpMarkTask, ...]:
        folder = checkout / "test_environments"
        if self.environments is not None:
            folder = Path(self.environments).expanduser().absolute()
        return file_tasks(checkout, self.suite, self.category, folder)

    def _make_workspace(self, task: McpMarkTask) -> FolderWorkspace:
        assert task.start is not None
        return FolderWorkspace.copy_of(task.start)

    def _is_achieved(self, task: McpMarkTask, workspace: FolderWorkspace) -> bool:
        return self._verified(task, {"FILESYSTEM_TEST_DIR": workspace.folder})

    def _tool_functions(self) -> tuple[Any, ...]:
        return folder_tools()

    def _instructions(self) -> str:
        return self._described(_INSTRUCTIONS)
