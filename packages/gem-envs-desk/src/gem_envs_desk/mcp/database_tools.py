"""The typed tools of a database: list, describe, query, execute."""

# ruff: noqa: D417  # the episode fills the workspace, and the agent reads of the other arguments

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

from gem.tools import FromEpisode
from gem.tools.function import FunctionTool

__all__ = ["WRITING_TOOLS", "database_tools"]

WRITING_TOOLS = frozenset(("execute",))


def list_tables(workspace: Annotated[Any, FromEpisode()]) -> str:
    """List the tables and views of the database."""
    return "\n".join(workspace.list_tables()) or "There are no tables."


def describe_table(table: str, workspace: Annotated[Any, FromEpisode()]) -> str:
    """Show columns, constraints, indexes, triggers, policies and privileges of a table.

    Args:
        table: its name.
    """
    return str(workspace.describe(table))


def query(sql: str, workspace: Annotated[Any, FromEpisode()]) -> str:
    """Execute one statement that only reads, and show its rows.

    Args:
        sql: the statement.
    """
    return str(workspace.run(sql, read_only=True))


def execute(sql: str, workspace: Annotated[Any, FromEpisode()]) -> str:
    """Execute one statement that changes data, tables or privileges; it is committed at once.

    Args:
        sql: the statement.
    """
    return str(workspace.run(sql, read_only=False))


@cache
def database_tools() -> tuple[FunctionTool, ...]:
    """Return the tools; their model of arguments is made once."""
    return tuple(FunctionTool(function) for function in (list_tables, describe_table, query, execute))
