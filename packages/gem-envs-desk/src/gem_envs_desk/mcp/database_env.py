"""Tasks on a real PostgreSQL, in the manner of MCPMark: :class:`DatabaseEnv`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from random import Random
from typing import Any, ClassVar

import gem
from gem.arguments import choice
from gem.core import Info
from gem.errors import GemError
from gem_envs_desk.mcp.content import make_content
from gem_envs_desk.mcp.database_task import DatabaseFamily, DatabaseTask
from gem_envs_desk.mcp.database_tools import WRITING_TOOLS, database_tools
from gem_envs_desk.mcp.families.reading import READING
from gem_envs_desk.mcp.families.rows import ROWS
from gem_envs_desk.mcp.families.rules import RULES
from gem_envs_desk.mcp.families.schema import SCHEMA
from gem_envs_desk.mcp.families.security import SECURITY
from gem_envs_desk.mcp.postgres_workspace import PostgresWorkspace
from gem_envs_desk.mcp.snapshots import Snapshot
from gem_envs_desk.mcp.sqlite_workspace import SqliteWorkspace
from gem_envs_desk.mcp.tool_env import WorkspaceEnv, WorkspaceFaultError

__all__ = ["DATABASE_FAMILIES", "DatabaseEnv", "DatabasePolicy"]

DATABASE_FAMILIES: dict[str, DatabaseFamily] = {**READING, **ROWS, **SCHEMA, **RULES, **SECURITY}
"""Name → family."""

_ALL = "all"
_ENGINES: dict[str, Any] = {"postgresql": PostgresWorkspace, "sqlite": SqliteWorkspace}
_KINDS = ("reading", "rows", "schema", "rules", "security")

_INSTRUCTIONS = """You work on the database of {subject}, in {dialect}. {tools}

Statements are committed one by one. When the task is done, end with <answer>done</answer>; a question is answered \
between <answer> and </answer>, with the values alone. Everything that the task does not mention must stay as it is: \
rows, tables, columns, indexes, constraints and privileges. You have {turns} turns.

Task: {task}"""


class DatabaseEnv(WorkspaceEnv):
    """One task on a database of its own per episode, with typed tools; the end state decides.

    At the end, the database is compared with one in which the solution was executed: tables, columns and their types,
    rows, constraints, indexes, views, row security and privileges. What can be said in several ways, such as the
    condition of a policy or the body of a trigger, is compared by its effect.

    Each episode has a database and a role of its own, in a PostgreSQL server that the first user starts and that ends
    after its last one. See :mod:`gem_tools.postgres`. ``episode_values["database_url"]`` is its URL, for a server of
    tools of the user; see the argument ``own_tools``.

    Args:
        engine: ``"postgresql"``, or ``"sqlite"`` for machines without it. SQLite has the families that it can express.
        families: ``"all"``, a kind (reading, rows, schema, rules, security) or the name of a family.
        max_turns: turns of an episode.
        own_tools: whether the agent has the tools of this environment.

    Raises:
        ArgumentError: if there is no such family, or SQLite does not have it.
    """

    workspace_values: ClassVar[tuple[str, ...]] = ("database_url",)
    _writing: ClassVar[frozenset[str]] = WRITING_TOOLS

    def __init__(
        self,
        engine: str = "postgresql",
        families: str = _ALL,
        max_turns: int = 30,
        own_tools: bool = True,
    ) -> None:
        super().__init__(max_turns, own_tools)
        self.engine = choice("engine", engine, tuple(_ENGINES))
        self.families = choice("families", families, (_ALL, *_KINDS, *DATABASE_FAMILIES))
        self._names = _names(self.engine, self.families)

    def _begin(self, task: int | None = None) -> None:
        if self.engine == "postgresql":
            from gem_tools.postgres import require_postgres

            require_postgres()
        super()._begin(task)

    def _draw(self, number: int) -> DatabaseTask:
        return database_task(number, self._names)

    def _make_workspace(self, task: DatabaseTask) -> Any:
        return made_workspace(self.engine, task)

    def _is_achieved(self, task: DatabaseTask, workspace: Any) -> bool:
        try:
            left: Snapshot = workspace.snapshot(task.probes)
        except GemError as error:
            # An agent can break its own database, for example by a setting; but not the solution's.
            if workspace.fault is not None:
                raise WorkspaceFaultError(str(error)) from error
            return False
        return left == goal(self.engine, self.task, self._names)

    def _tool_functions(self) -> tuple[Any, ...]:
        return database_tools()

    def _instructions(self) -> str:
        return _INSTRUCTIONS.format(
            subject=self._task.content.business.subject,
            dialect=_ENGINES[self.engine].dialect,
            tools=self._tool_instructions(),
            turns=self.max_turns,
            task=self._task.text,
        )

    def _random_action(self) -> str:
        """Return a call that reads or writes a table, or an answer."""
        rng, content = self.action_rng, self._task.content
        table = rng.choice(content.tables)
        column, draw = rng.choice(table.columns), rng.random()
        if draw < 0.4:
            return _call("query", sql=f"SELECT {column}, COUNT(*) FROM {table.name} GROUP BY {column}")  # noqa: S608
        if draw < 0.5:
            return _call("describe_table", table=table.name)
        if draw < 0.6:
            return _call("execute", sql=f"DELETE FROM {table.name} WHERE id = {rng.randint(1, 60)}")  # noqa: S608
        if draw < 0.7:
            return _call("execute", sql=f"CREATE INDEX ON {table.name} ({column})")
        if self._task.answer is None:
            return "<answer>done</answer>"
        value = rng.choice(rng.choice(table.rows)) if table.rows else 0
        return f"<answer>{value if draw < 0.9 else rng.randrange(20)}</answer>"


def _call(name: str, **arguments: str) -> str:
    import json

    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


@lru_cache(maxsize=64)
def _names(engine: str, families: str) -> tuple[str, ...]:
    found = tuple(
        name
        for name, family in DATABASE_FAMILIES.items()
        if families in (_ALL, family.kind, name) and (engine != "sqlite" or family.in_sqlite)
    )
    if not found:
        raise gem.errors.ArgumentError(f"SQLite cannot express the tasks {families!r}; choose engine='postgresql'")
    return found


@lru_cache(maxsize=256)
def database_task(number: int, names: tuple[str, ...]) -> DatabaseTask:
    """Return a task; a pure function of its arguments. The episodes of a group share it."""
    rng = Random(f"mcp database {number}")
    name = names[number % len(names)]
    while True:
        task = DATABASE_FAMILIES[name].draw(rng, make_content(rng))
        if task is not None:
            return task._replace(family=name)


def made_workspace(engine: str, task: DatabaseTask) -> Any:
    """Return a database as the task begins.

    Raises:
        gem_tools.postgres.PostgresError: if there is no PostgreSQL.
    """
    return _ENGINES[engine](task.content)


@lru_cache(maxsize=256)
def goal(engine: str, number: int, names: tuple[str, ...]) -> Mapping[str, Any]:
    """Return the right end: what a database looks like in which the solution was executed."""
    task = database_task(number, names)
    workspace = made_workspace(engine, task)
    try:
        for statement in task.solution:
            workspace.change(statement)
        end: Mapping[str, Any] = workspace.snapshot(task.probes)
    finally:
        workspace.close()
    return end


class DatabasePolicy(gem.Policy[str, str]):
    """Looks at the tables, executes the solution through the tools, and answers; it reads both from the environment."""

    def __init__(self, env: gem.Env[Any, Any]) -> None:
        self.env = env
        self._left: list[str] = []

    def reset(self, observation: str, info: Info) -> None:
        env: DatabaseEnv = self.env.unwrapped  # type: ignore[assignment]  # a policy of this environment
        task: DatabaseTask = env.current
        first = task.content.tables[0].name
        answer = "done" if task.answer is None else "\n".join(task.answer)
        self._left = [
            _call("list_tables"),
            _call("describe_table", table=first),
            *([] if task.answer is None else [_call("query", sql=task.look)]),
            *(_call("execute", sql=statement) for statement in task.solution),
            f"<answer>{answer}</answer>",
        ][::-1]

    def act(self, observation: str, info: Info) -> str:
        return self._left.pop()
