"""The environment of a package made from an MCP server: :class:`ServerEnv`."""

from __future__ import annotations

import json
from abc import ABC
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from gem_envs_desk.synthesis.server_profile import ServerProfile
from gem_envs_desk.synthesis.server_world import ServerDomain
from gem_envs_desk.synthesis.service_env import TASKS_FILE, MadeTaskEnv
from gem_envs_desk.synthesis.task_list import TaskList

__all__ = ["SERVER_FILE", "ServerEnv", "server_domain"]

SERVER_FILE = "server.json"


@lru_cache(maxsize=16)
def server_domain(folder: Path) -> ServerDomain:
    """Return the server and the tasks in a folder. A process reads them once."""
    profile = ServerProfile.from_json(json.loads((folder / SERVER_FILE).read_text(encoding="utf-8")))
    tasks = TaskList.from_text((folder / TASKS_FILE).read_text(encoding="utf-8"))
    return ServerDomain(profile, tasks, remembers=True)


class _DomainOfFolder:
    """Reads the domain of a class on first use."""

    def __get__(self, env: Any, owner: type[ServerEnv]) -> ServerDomain:
        return server_domain(owner.folder)


class ServerEnv(MadeTaskEnv, ABC):
    """Tasks on an MCP server, from the files of a made package; arguments as for :class:`MadeTaskEnv`.

    Each episode has a server of its own, which starts with the first call that no earlier episode of this process has
    made in the same place, and ends with the episode.
    """

    folder: ClassVar[Path]
    domain = _DomainOfFolder()  # a descriptor, so that importing the package reads no file
