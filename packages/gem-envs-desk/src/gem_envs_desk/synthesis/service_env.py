"""The environments of made packages: :class:`MadeTaskEnv`, and :class:`ServiceEnv` for simulated services."""

from __future__ import annotations

import json
from abc import ABC
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from gem_envs_desk.env import DeskEnv
from gem_envs_desk.synthesis.service_domain import ServiceDomain
from gem_envs_desk.synthesis.store_spec import StoreSpec
from gem_envs_desk.synthesis.task_list import TaskList

__all__ = ["TASKS_FILE", "WORLD_FILE", "MadeTaskEnv", "ServiceEnv", "service_domain"]

WORLD_FILE, TASKS_FILE = "world.json", "tasks.jsonl"
NO_USER, SCRIPTED = "none", "scripted"


@lru_cache(maxsize=16)
def service_domain(folder: Path) -> ServiceDomain:
    """Return the service and the tasks in a folder. A process reads them once."""
    spec = StoreSpec.from_json(json.loads((folder / WORLD_FILE).read_text(encoding="utf-8")))
    return ServiceDomain(spec, TaskList.from_text((folder / TASKS_FILE).read_text(encoding="utf-8")))


class MadeTaskEnv(DeskEnv, ABC):
    """Tasks of a made package: the episode, the reward and ``info`` are those of :class:`gem_envs_desk.env.DeskEnv`.

    Args:
        user: ``"none"``: the task is given whole, and the first message of the agent ends the episode; it tells what
            the task asks for. ``"scripted"``: a scripted user raises one wish after the other, and tells some values
            only when asked. The URL of a model server: its model plays the user.
        level: the number of goals of a task, 1 to 3.
        split: ``"train"`` or ``"test"``; their tasks have no initial state in common.
        max_turns: messages and rounds of calls of the agent.
        tool_instructions: whether the first observation lists the tools.
        failure_rate: share of the agent's calls that fail for no reason, change nothing and can be repeated.
        user_model: the name of the model that plays the user.
    """

    role = "operator of a service"

    def __init__(
        self,
        user: str = NO_USER,
        level: int = 1,
        split: str = "train",
        max_turns: int = 30,
        tool_instructions: bool = True,
        failure_rate: float = 0.0,
        user_model: str | None = None,
    ) -> None:
        talks_to = SCRIPTED if user == NO_USER else user
        super().__init__(level, split, max_turns, tool_instructions, failure_rate, talks_to, user_model)
        self._is_alone = user == NO_USER

    def _set_task(self) -> None:
        super()._set_task()
        if self._is_alone:
            self._task, self._user = replace(self._task, script=None), None


class _DomainOfFolder:
    """Reads the domain of a class on first use."""

    def __get__(self, env: Any, owner: type[ServiceEnv]) -> ServiceDomain:
        return service_domain(owner.folder)


class ServiceEnv(MadeTaskEnv, ABC):
    """Tasks on a simulated service, from the files of a made package; arguments as for :class:`MadeTaskEnv`."""

    folder: ClassVar[Path]
    domain = _DomainOfFolder()  # a descriptor, so that importing the package reads no file
