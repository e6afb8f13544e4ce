"""Tasks on a folder of files, in the manner of MCPMark: :class:`FolderEnv`."""

from __future__ import annotations

import json
from functools import lru_cache
from random import Random
from typing import Any, ClassVar

import gem
from gem.arguments import choice
from gem.core import Info
from gem.errors import GemError
from gem_envs_desk.mcp.families.folders import FOLDER_FAMILIES
from gem_envs_desk.mcp.folder_task import FolderTask
from gem_envs_desk.mcp.folder_tools import FOLDER_WRITING_TOOLS, folder_tools
from gem_envs_desk.mcp.folder_workspace import FolderWorkspace
from gem_envs_desk.mcp.tool_env import WorkspaceEnv

__all__ = ["FolderEnv", "FolderPolicy"]

_ALL = "all"
_KINDS = ("reading", "changing")

_INSTRUCTIONS = """You work in a folder of files. Paths are relative to it. {tools}

When the task is done, end with <answer>done</answer>; a question is answered between <answer> and </answer>, with the \
values alone. Every file and folder that the task does not mention must stay as it is, and no other may be left. Each \
line of a text ends with a line break. You have {turns} turns.

Task: {task}"""


class FolderEnv(WorkspaceEnv):
    """One task on a folder of its own per episode, with typed tools; the content of all files decides.

    ``episode_values["folder"]`` is its path, for a server of tools of the user; see the argument ``own_tools``. The
    tools of this environment cannot leave the folder. What a foreign server can reach is that server's matter.

    Args:
        families: ``"all"``, a kind (reading, changing) or the name of a family.
        max_turns: turns of an episode.
        own_tools: whether the agent has the tools of this environment.
    """

    workspace_values: ClassVar[tuple[str, ...]] = ("folder",)
    _writing: ClassVar[frozenset[str]] = FOLDER_WRITING_TOOLS

    def __init__(self, families: str = _ALL, max_turns: int = 40, own_tools: bool = True) -> None:
        super().__init__(max_turns, own_tools)
        self.families = choice("families", families, (_ALL, *_KINDS, *FOLDER_FAMILIES))
        self._names = tuple(name for name, one in FOLDER_FAMILIES.items() if families in (_ALL, one.kind, name))

    def _draw(self, number: int) -> FolderTask:
        return folder_task(number, self._names)

    def _make_workspace(self, task: FolderTask) -> FolderWorkspace:
        return FolderWorkspace(task.start)

    def _is_achieved(self, task: FolderTask, workspace: FolderWorkspace) -> bool:
        try:
            return workspace.snapshot() == task.end
        except GemError:
            return False

    def _tool_functions(self) -> tuple[Any, ...]:
        return folder_tools()

    def _instructions(self) -> str:
        return _INSTRUCTIONS.format(
            tools=self._tool_instructions(),
            turns=self.max_turns,
            task=self._task.text,
        )

    def _random_action(self) -> str:
        """Return a call that reads or writes a file, or an answer."""
        rng = self.action_rng
        path, draw = rng.choice(list(self._task.start)), rng.random()
        if draw < 0.3:
            return _call("read_text_file", {"path": path})
        if draw < 0.5:
            return _call("delete_file", {"path": path})
        if draw < 0.7:
            return _call("move_file", {"source": path, "destination": f"moved-{rng.randrange(9)}"})
        return f"<answer>{'done' if self._task.answer is None else rng.randrange(60)}</answer>"


@lru_cache(maxsize=256)
def folder_task(number: int, names: tuple[str, ...]) -> FolderTask:
    """Return a task; a pure function of its arguments. The episodes of a group share it."""
    rng = Random(f"mcp folder {number}")
    name = names[number % len(names)]
    while True:
        task = FOLDER_FAMILIES[name].draw(rng)
        if task is not None:
            return task._replace(family=name)


def _call(name: str, arguments: dict[str, Any]) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


class FolderPolicy(gem.Policy[str, str]):
    """Looks at the folder, makes the calls of the solution, and answers; it reads both from the environment."""

    def __init__(self, env: gem.Env[Any, Any]) -> None:
        self.env = env
        self._left: list[str] = []

    def reset(self, observation: str, info: Info) -> None:
        env: FolderEnv = self.env.unwrapped  # type: ignore[assignment]  # a policy of this environment
        task: FolderTask = env.current
        answer = "done" if task.answer is None else "\n".join(task.answer)
        look = [_call("directory_tree", {})]
        calls = [_call(name, arguments) for name, arguments in task.solution]
        self._left = [*look, *calls, f"<answer>{answer}</answer>"][::-1]

    def act(self, observation: str, info: Info) -> str:
        return self._left.pop()
