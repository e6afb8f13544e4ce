"""Simulated services as desks: :class:`ServiceDomain`, whose tasks are read from a list of verified ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gem.tools import Tool, ToolResult
from gem_envs_desk.domain import DeskDomain
from gem_envs_desk.store import Dump
from gem_envs_desk.synthesis.service import SimulatedService
from gem_envs_desk.synthesis.store_spec import StoreOperation, StoreSpec
from gem_envs_desk.synthesis.task_list import TaskList
from gem_envs_desk.task import AGENT, USER, DeskTask

__all__ = ["POLICY", "ServiceDomain", "ServiceTool", "ServiceWorld"]

POLICY = """\
Do what you are asked to do, and nothing else. Look up what you need with the tools. Change only the properties that you
are told to change. All descriptions of records refer to the state before your first change."""


class ServiceTool(Tool):
    """One operation of a simulated service.

    Args:
        service: the records that it works on.
        operation: the operation.
    """

    def __init__(self, service: SimulatedService, operation: StoreOperation) -> None:
        self._service = service
        self.name = operation.name
        self.description = operation.description
        self.parameters = operation.parameters

    def execute(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Carry out the operation; the answer is JSON."""
        data = self._service.call(self.name, arguments)
        return ToolResult(json.dumps(data, ensure_ascii=False), data=data)


class ServiceWorld:
    """A simulated service in one state, with its operations as the agent's tools."""

    def __init__(self, spec: StoreSpec, state: Mapping[str, Any]) -> None:
        self._service = SimulatedService(spec, state)
        self.tools: Mapping[str, Mapping[str, Tool]] = {
            AGENT: {name: ServiceTool(self._service, one) for name, one in spec.operations.items()},
            USER: {},
        }

    def dump(self) -> Dump:
        """Return all records."""
        return self._service.dump()

    def close(self) -> None:
        """Do nothing: a service holds no resources."""


class ServiceDomain(DeskDomain):
    """A simulated service and its tasks.

    Args:
        spec: the service.
        tasks: the tasks of each level and split.
    """

    policy = POLICY

    def __init__(self, spec: StoreSpec, tasks: Sequence[DeskTask] | TaskList = ()) -> None:
        self.name = spec.title
        self.spec = spec
        self.tasks = tasks if isinstance(tasks, TaskList) else TaskList({(1, "train"): list(tasks)})

    def task(self, number: int, level: int, split: str) -> DeskTask:
        """Return a task of the list; the number counts them in a circle."""
        return self.tasks.task(number, level, split)

    def open(self, state: Mapping[str, Any]) -> ServiceWorld:
        """Return a service in this state."""
        return ServiceWorld(self.spec, state)
