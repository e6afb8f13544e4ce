"""The PostgreSQL tasks of MCPMark, from a checkout of the user: :class:`McpMarkPostgresEnv`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from gem.errors import GemError
from gem_envs_desk.adapters.mcpmark_checkout import McpMarkCheckoutEnv
from gem_envs_desk.adapters.mcpmark_tasks import McpMarkTask, database_tasks
from gem_envs_desk.mcp.database_tools import WRITING_TOOLS, database_tools
from gem_envs_desk.mcp.served_database import ServedDatabase

if TYPE_CHECKING:
    from gem_tools.postgres import ClusterDatabase

__all__ = ["McpMarkPostgresEnv"]

_PREPARE_SECONDS = 300
"""As long as MCPMark waits."""
_RESTORE_SECONDS = 3600
_STATEMENT_SECONDS = 120.0
_LONGEST_MESSAGE = 1000

_INSTRUCTIONS = """You work on a PostgreSQL database as its superuser. {tools}

Statements are committed one by one. When the task is done, end with <answer>done</answer>. You have {turns} turns.

{task}"""


class McpMarkPostgresEnv(McpMarkCheckoutEnv):
    """One task of MCPMark's service PostgreSQL per episode, verified by the task's own program.

    ``description.md`` is the task. Its databases, roles and verifiers need a superuser, as in MCPMark, so each episode
    has a server of its own, which the kernel confines; see :func:`gem_tools.postgres.open_cluster`. The database begins
    with what the task's ``prepare_environment.py`` makes, or with the backup of its category. At the end ``verify.py``
    runs in a process. The reward is 1.0 if its exit status is 0, else 0.0; :attr:`verification` has what it printed.

    :attr:`refused_tasks` names the tasks that lack their backup, an extension of the server or a module. The programs
    of the checkout run unconfined, so it must be one that you trust.

    Args:
        path: the folder of the checkout of https://github.com/eval-sys/mcpmark.
        suite: ``"standard"`` or ``"easy"``.
        category: a category, such as ``"security"``; None for all.
        backups: the folder of the backups, such as ``chinook.backup``; by default ``postgres_state`` of the checkout,
            into which MCPMark itself downloads them.
        python: the interpreter that runs the programs, such as the one of the checkout's virtual environment.
        max_turns: turns of an episode.
        own_tools: whether the agent has the database tools of this package. Otherwise it works through the wrapper
            ``mcp_tool`` with a server on ``${episode.database_url}``.

    Raises:
        ArgumentError: at the first reset, if no task can be played, with the reasons.
        gem_tools.postgres.PostgresError: at the first reset, if PostgreSQL is not installed.
    """

    workspace_values: ClassVar[tuple[str, ...]] = ("database_url",)
    _writing: ClassVar[frozenset[str]] = WRITING_TOOLS

    def __init__(
        self,
        path: str | None = None,
        suite: str = "standard",
        category: str | None = None,
        backups: str | None = None,
        python: str = sys.executable,
        max_turns: int = 100,
        own_tools: bool = True,
    ) -> None:
        super().__init__(path, suite, category, python, max_turns, own_tools)
        self.backups = backups
        self._refused: dict[str, str] = {}

    @property
    def refused_tasks(self) -> dict[str, str]:
        """The names of the tasks that cannot be played → the reason, and what to do."""
        self._listed()
        return dict(self._refused)

    def _find_tasks(self, checkout: Path) -> tuple[McpMarkTask, ...]:
        from gem_tools.postgres import require_postgres
        from gem_tools.postgres.programs import server_programs

        require_postgres()
        folder = checkout / "postgres_state" if self.backups is None else Path(self.backups).expanduser().absolute()
        found = database_tasks(checkout, self.suite, self.category, folder, server_programs(), self.python)
        self._refused = found.refused
        return found.playable

    def _make_workspace(self, task: McpMarkTask) -> ServedDatabase:
        from gem_tools.postgres import open_cluster

        category, _, name = task.name.partition("/")
        database = open_cluster(f"mcpmark_{category}_{name}")
        try:
            if task.start is None:
                self._run("prepare_environment.py", [self.python, task.folder / "prepare_environment.py"], database,
                          task.folder, _PREPARE_SECONDS)  # fmt: skip
            else:
                self._restore(task.start, database)
        except BaseException:
            database.close()
            raise
        return ServedDatabase(database, _STATEMENT_SECONDS)

    def _is_achieved(self, task: McpMarkTask, workspace: ServedDatabase) -> bool:
        return self._verified(task, _variables(workspace.database), workspace.database.name)

    def _tool_functions(self) -> tuple[Any, ...]:
        return database_tools()

    def _instructions(self) -> str:
        return self._described(_INSTRUCTIONS)

    def _restore(self, backup: Path, database: ClusterDatabase) -> None:
        """Fill the database from a backup. As in MCPMark, single errors are none: a role may be missing, for example.

        Raises:
            GemError: if nothing came of it, as with the format of a newer PostgreSQL.
        """
        from gem_tools.postgres.programs import server_programs

        command = [server_programs() / "pg_restore", "--host", database.sockets, "--port", str(database.port),
                   "--username", database.user, "--dbname", database.name, backup]  # fmt: skip
        said = self._run("pg_restore", command, database, backup.parent, _RESTORE_SECONDS, may_fail=True)
        if not ServedDatabase(database).list_tables():
            raise GemError(f"pg_restore made no table of {backup}: {said}")

    def _run(
        self,
        name: str,
        command: list[Any],
        database: ClusterDatabase,
        folder: Path,
        seconds: float,
        *,
        may_fail: bool = False,
    ) -> str:
        """Run a program that fills the database; return the end of what it printed."""
        try:
            done = subprocess.run(  # noqa: S603  # the checkout and the interpreter that the user names
                command, cwd=folder, env={**os.environ, **_variables(database)}, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise GemError(f"{name} of {folder.name} does not prepare the database: {error}") from error
        said = done.stdout.decode(errors="replace").strip()[-_LONGEST_MESSAGE:]
        if done.returncode and not may_fail:
            raise GemError(f"{name} of {folder.name} does not prepare the database (status {done.returncode}): {said}")
        return said


def _variables(database: Any) -> Mapping[str, str]:
    """Return the variables by which the programs of MCPMark find the database."""
    return {
        "POSTGRES_HOST": database.sockets,
        "POSTGRES_PORT": str(database.port),
        "POSTGRES_USERNAME": database.user,
        "POSTGRES_PASSWORD": "password",  # nobody asks for it
        "POSTGRES_DATABASE": database.name,
        "DATABASE_URL": database.url,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONIOENCODING": "utf-8",
    }
