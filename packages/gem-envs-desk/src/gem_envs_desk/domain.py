"""What a desk consists of: :class:`DeskDomain`, and the worlds that its tasks are carried out in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from types import ModuleType, SimpleNamespace
from typing import Annotated, Any, Protocol

from gem.errors import ArgumentError
from gem.tools import Tool, ToolResult
from gem.tools.calls import ToolCall
from gem.tools.episode import FromEpisode, begin_episode
from gem_envs_desk.store import DeskStore, Dump, RefusedCallError, TableSchema
from gem_envs_desk.task import AGENT, USER, DeskCall, DeskTask

__all__ = [
    "Db",
    "DeskDomain",
    "DeskWorld",
    "RefusedCallError",
    "StoreDomain",
    "StoreWorld",
    "carried_out",
    "policy_page",
    "tools_of",
]

Db = Annotated[DeskStore, FromEpisode("store")]
"""The type of a tool function's parameter that gets the store of the episode."""


class DeskWorld(Protocol):
    """A state, and the tools that read and change it."""

    @property
    def tools(self) -> Mapping[str, Mapping[str, Tool]]:
        """``"agent"`` and ``"user"`` → the tools of each by name."""

    def dump(self) -> Dump:
        """Return the whole state, to compare with :func:`gem_envs_desk.store.differences`."""

    def close(self) -> None:
        """Discard the world. Calling it again does nothing."""


class DeskDomain(ABC):
    """A desk: its policy, its tasks and its worlds. It has no state of its own."""

    name: str
    """For messages, for example ``"retail"``."""
    policy: str = ""
    """The written policy that the agent must keep to."""
    most_turns: int = 30

    @abstractmethod
    def task(self, number: int, level: int, split: str) -> DeskTask:
        """Return the task of a number below 2⁴⁸, always the same one."""

    @abstractmethod
    def open(self, state: Mapping[str, Any]) -> DeskWorld:
        """Return a world in this state, which is not changed itself."""


class StoreWorld:
    """A world whose state is a :class:`DeskStore`, and whose tools are functions with a parameter of type ``Db``.

    Args:
        schema: the tables.
        state: table → rows.
        agent: the agent's tools.
        user: the user's tools.
    """

    def __init__(
        self,
        schema: Mapping[str, TableSchema],
        state: Mapping[str, Any],
        agent: Sequence[Tool],
        user: Sequence[Tool] = (),
    ) -> None:
        self.store = DeskStore(schema, state)
        values = SimpleNamespace(episode_values={"store": self.store})
        self.tools: dict[str, dict[str, Tool]] = {AGENT: {}, USER: {}}
        for actor, tools in ((AGENT, agent), (USER, user)):
            for tool in tools:
                own = tool.for_wrapper()
                begin_episode(own, values, {})  # type: ignore[arg-type]  # all that a function tool reads
                self.tools[actor][tool.name] = own

    def dump(self) -> Dump:
        """Return the whole content of the store."""
        return self.store.dump()

    def close(self) -> None:
        """Discard the store."""
        self.store.close()


class StoreDomain(DeskDomain, ABC):
    """A desk whose worlds are stores, and whose tasks are drawn from a seed of their number."""

    schema: Mapping[str, TableSchema]
    agent_tools: Sequence[Tool]
    user_tools: Sequence[Tool] = ()

    def task(self, number: int, level: int, split: str) -> DeskTask:
        return self.drawn(Random(f"{self.name} {split} {level} {number}"), level, split)

    @abstractmethod
    def drawn(self, rng: Random, level: int, split: str) -> DeskTask:
        """Return a task that a generator draws."""

    def open(self, state: Mapping[str, Any]) -> StoreWorld:
        return StoreWorld(self.schema, state, self.agent_tools, self.user_tools)


def policy_page(module_file: str) -> str:
    """Return the written policy, the file ``policy.md`` beside a module."""
    return Path(module_file).with_name("policy.md").read_text(encoding="utf-8")


def tools_of(module: ModuleType) -> tuple[Tool, ...]:
    """Return the tools that a module defines, in their order."""
    return tuple(value for value in vars(module).values() if isinstance(value, Tool))


def carried_out(world: DeskWorld, call: DeskCall) -> ToolResult:
    """Carry out a call and return its result, a failed one with the reason.

    Raises:
        ArgumentError: if the world has no such tool; a model's call is looked up before.
    """
    tool = world.tools[call.by].get(call.tool)
    if tool is None:
        raise ArgumentError(f"the {call.by} has no tool {call.tool!r}; there are {', '.join(world.tools[call.by])}")
    result = tool.call(ToolCall(call.tool, dict(call.arguments)))
    prefix = f"{call.tool} failed: {RefusedCallError.__name__}: "
    if result.ok or not result.text.startswith(prefix):
        return result
    return ToolResult(result.text.removeprefix(prefix), ok=False)
