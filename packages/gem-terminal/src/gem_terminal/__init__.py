"""Terminal tasks in containers for language-model agents, at training speed.

::

    env = gem.make("terminal:Folder-v0", path="my-tasks")

Everything loads on first use.
"""

from __future__ import annotations

from gem.lazy import loaded_on_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gem_terminal.env import TerminalEnv
    from gem_terminal.formats import load_task, load_tasks
    from gem_terminal.task import Task

__all__ = ["Task", "TerminalEnv", "load_task", "load_tasks"]

__version__ = "0.1.0"

_HOMES = {
    "Task": "gem_terminal.task",
    "TerminalEnv": "gem_terminal.env",
    "load_task": "gem_terminal.formats",
    "load_tasks": "gem_terminal.formats",
}

__getattr__, __dir__ = loaded_on_use(globals(), _HOMES)
