"""Worlds whose state goes on from episode to episode: :class:`PersistentEnv`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from gem.arguments import boolean, integer
from gem.core import Info
from gem.errors import ArgumentError
from gem_envs_desk.checks import gold_run
from gem_envs_desk.domain import DeskDomain
from gem_envs_desk.env import DeskEnv
from gem_envs_desk.store import DeskStore, RefusedCallError, Tables, TableSchema
from gem_envs_desk.task import DeskTask

__all__ = ["PersistentDomain", "PersistentEnv"]

_NUMBERS = 1 << 48


class PersistentDomain(DeskDomain):
    """A desk whose tasks follow from the state that the episode before has left."""

    schema: Mapping[str, TableSchema]

    @abstractmethod
    def new_world(self, number: int, split: str) -> dict[str, list[dict[str, Any]]]:
        """Return the state in which a world begins."""

    @abstractmethod
    def next_task(self, state: Tables, number: int, level: int, split: str) -> DeskTask:
        """Return a task on a state, after what has happened since the last one: its ``state`` is the new state."""

    def task(self, number: int, level: int, split: str) -> DeskTask:
        """Return the first task of a world."""
        return self.next_task(self.new_world(number, split), number, level, split)


class PersistentEnv(DeskEnv, ABC):
    """A task a day in a world that goes on: the next episode finds what the last one has left, right or wrong.

    ``reset(seed=…)`` begins a new world; ``reset()`` goes on in the present one. ``snapshot()`` returns the state, and
    the reset option ``snapshot`` goes on from one. The option ``new_world=True`` begins a new world without a seed, and
    ``task``, an int below 2⁴⁸, chooses what happens next.

    The agent works alone: its first message is its report and ends the episode. ``info["day"]`` on reset counts the
    episodes of the world from 1.

    Args:
        level: 1 to 3, the number of instructions of a task.
        split: ``"train"`` or ``"test"``. No world is in both.
        max_turns: rounds of calls of the agent, its report included.
        tool_instructions: see :class:`gem_envs_desk.env.DeskEnv`.
        failure_rate: see there; 0.05 to 0.1 is usual.
    """

    domain: ClassVar[PersistentDomain]
    follows_order = True
    saved = DeskEnv.saved | type(DeskEnv.saved)(start=dict[str, Any], day=int)

    def __init__(
        self,
        level: int = 1,
        split: str = "train",
        max_turns: int = 30,
        tool_instructions: bool = True,
        failure_rate: float = 0.0,
    ) -> None:
        super().__init__(level, split, max_turns, tool_instructions, failure_rate)
        self.start: dict[str, Any] | None = None
        self.day = 0
        self._is_new = True

    def snapshot(self) -> dict[str, Any]:
        """Return the present state of the world, JSON values: ``day`` and ``tables``."""
        return {"day": self.day, "tables": self._tables()}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        """Begin the next episode; with a seed, in a new world."""
        self._is_new = seed is not None
        observation, info = super().reset(seed, options)
        return observation, {**info, "day": self.day}

    def _begin(self, task: int | None = None, snapshot: Any = None, new_world: bool = False) -> None:
        if snapshot is not None:
            if boolean("new_world", new_world):
                raise ArgumentError("give snapshot or new_world, not both")
            start, day = self._of_snapshot(snapshot)
        elif self._is_new or boolean("new_world", new_world) or self.start is None:
            start, day = self.domain.new_world(self.rng.getrandbits(48), self.split), 0
        else:
            start, day = self._tables(), self.day
        number = self.rng.getrandbits(48)
        if task is not None:
            number = integer("task", task, minimum=0, maximum=_NUMBERS - 1)
        self._discard_world()
        self.task, self.start, self.day = number, start, day + 1
        self._begin_task()

    def _set_task(self) -> None:
        assert self.start is not None
        self._user = None
        self._task = self.domain.next_task(self.start, self.task, self.level, self.split)

    def _gold_end(self) -> Any:
        return gold_run(self.domain, self._task, self._task.gold).end

    def _tables(self) -> dict[str, Any]:
        return {table: [dict(row) for row in rows.values()] for table, rows in self.world.dump().items()}

    def _of_snapshot(self, snapshot: Any) -> tuple[dict[str, Any], int]:
        """Return the tables and the day of a snapshot."""
        try:
            day, tables = integer("day", snapshot["day"], minimum=0), snapshot["tables"]
            if set(tables) != set(self.domain.schema):
                raise ArgumentError(f"the tables must be {', '.join(self.domain.schema)}")
            for name, rows in tables.items():
                if any(set(row) != set(self.domain.schema[name].columns) for row in rows):
                    raise ArgumentError(f"the table {name} has other columns")
            store = DeskStore(self.domain.schema, tables)
            copied = store.tables()
            store.close()
        except (LookupError, TypeError, AttributeError, ArgumentError, RefusedCallError) as error:
            raise ArgumentError(f"snapshot must be one of this environment: {error}") from error
        return copied, day
