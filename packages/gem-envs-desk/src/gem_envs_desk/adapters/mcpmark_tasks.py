"""The task folders of a checkout of MCPMark: :func:`file_tasks`, :func:`database_tasks`."""

from __future__ import annotations

import ast
import contextlib
import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gem.errors import ArgumentError

__all__ = ["DatabaseTasks", "McpMarkTask", "database_tasks", "file_tasks"]

_EXTENSION = re.compile(r"CREATE EXTENSION (?:IF NOT EXISTS )?\"?(\w+)", re.IGNORECASE)
_ASK_SECONDS = 120
_BACKUPS = "https://storage.mcpmark.ai/postgres"


class McpMarkTask(NamedTuple):
    """One task of the checkout; the attributes that :class:`~gem_envs_desk.mcp.tool_env.WorkspaceEnv` reads."""

    name: str
    """Category and task, such as ``"papers/find_math_paper"``."""
    text: str
    """``description.md``, as it is."""
    folder: Path
    """The folder of the task, with ``verify.py``, whose exit status decides."""
    start: Path | None
    """The folder or the backup of a database that each episode gets a copy of; None where a program prepares it."""
    answer: None = None
    """The end state decides alone."""


class DatabaseTasks(NamedTuple):
    """The tasks of the service PostgreSQL."""

    playable: tuple[McpMarkTask, ...]
    refused: dict[str, str]
    """The names of the others → the reason, and what to do."""


def file_tasks(checkout: Path, suite: str, category: str | None, environments: Path) -> tuple[McpMarkTask, ...]:
    """Return the tasks of the file system, sorted by name.

    Raises:
        ArgumentError: if the folder is no checkout, the suite or the category has no task, or the initial folder of a
            category is missing.
    """
    tasks, missing = [], {}
    for name, folder, meta in _found(checkout, "filesystem", suite, category):
        group = str(meta.get("category_id", folder.parent.name))
        start = environments / group
        if not start.is_dir():
            data = meta.get("meta_data")
            missing[group] = str(data.get("stateUrl")) if isinstance(data, dict) else "?"
        tasks.append(_task(name, folder, start))
    if missing:
        listed = "; ".join(f"{group} ({url})" for group, url in sorted(missing.items()))
        raise ArgumentError(
            f"{environments} lacks the initial folders of {listed}. Unpack MCPMark's archives there, give "
            "environments= another folder, or choose with category= one that is there"
        )
    return tuple(tasks)


def database_tasks(
    checkout: Path, suite: str, category: str | None, backups: Path, programs: Path, python: str
) -> DatabaseTasks:
    """Return the tasks of PostgreSQL, sorted by name.

    As in MCPMark, a category with a backup begins with its content, and another one with what its
    ``prepare_environment.py`` makes.

    Args:
        checkout: the folder of the checkout.
        suite: ``"standard"`` or ``"easy"``.
        category: None for all.
        backups: a folder with ``CATEGORY.backup``.
        programs: the folder of the server's programs.
        python: the interpreter that runs the programs of tasks.

    Raises:
        ArgumentError: if the folder is no checkout, the suite or the category has no task that can be played, or the
            interpreter does not run.
    """
    playable, refused = [], {}
    found = list(_found(checkout, "postgres", suite, category))
    imported = {name: _imports(_programs_of(folder)) for name, folder, _ in found}
    lacking_modules = _lacking_modules(python, sorted(set().union(*imported.values())))
    for name, folder, meta in found:
        group = str(meta.get("category_id", folder.parent.name))
        backup = backups / f"{group}.backup"
        if not backup.is_file() and not (folder / "prepare_environment.py").is_file():
            refused[name] = (
                f"its database {group!r} is a backup that is not part of the checkout: put {_BACKUPS}/{group}.backup "
                f"into {backups}, or give backups= the folder that has it"
            )
        elif not backup.is_file() and (lacking := _lacking_extensions(_programs_of(folder), programs)):
            refused[name] = (
                f"the PostgreSQL server lacks the extensions {', '.join(lacking)}: install them, as Debian's "
                f"postgresql-{programs.parent.name}-pgvector"
            )
        elif lacking := sorted(imported[name] & lacking_modules):
            refused[name] = (
                f"python={python!r} lacks the modules {', '.join(lacking)} of its programs: give python= the "
                "interpreter of the checkout's virtual environment"
            )
        else:
            playable.append(_task(name, folder, backup if backup.is_file() else None))
    if not playable:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in refused.items())
        raise ArgumentError(f"none of MCPMark's tasks can be played: {reasons}")
    return DatabaseTasks(tuple(playable), refused)


def _found(
    checkout: Path, service: str, suite: str, category: str | None
) -> Iterator[tuple[str, Path, dict[str, Any]]]:
    """Yield name, folder and description of the tasks of a service."""
    root = checkout / "tasks" / service / suite
    if not root.is_dir():
        raise ArgumentError(f"path={str(checkout)!r} is no checkout of MCPMark: it has no tasks/{service}/{suite}")
    found = sorted(path.parent for path in root.glob("*/*/description.md"))
    categories = sorted({folder.parent.name for folder in found})
    if category is not None:
        if category not in categories:
            raise ArgumentError(f"category must be one of {', '.join(categories)}, got {category!r:.80}")
        found = [folder for folder in found if folder.parent.name == category]
    if not found:
        raise ArgumentError(f"{root} holds no task; one is a folder <category>/<task> with description.md")
    for folder in found:
        yield f"{folder.parent.name}/{folder.name}", folder, _meta(folder / "meta.json")


def _task(name: str, folder: Path, start: Path | None) -> McpMarkTask:
    return McpMarkTask(name, (folder / "description.md").read_text(encoding="utf-8"), folder, start)


def _meta(path: Path) -> dict[str, Any]:
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}  # MCPMark goes on without it, too
    return meta if isinstance(meta, dict) else {}


def _programs_of(folder: Path) -> list[Path]:
    """Return the programs of a task, and those that the tasks of its category share."""
    return sorted([*folder.glob("*.py"), *folder.parent.glob("*.py")])


def _imports(scripts: Sequence[Path]) -> set[str]:
    """Return the modules that programs import, without themselves."""
    names: set[str] = set()
    for script in scripts:
        with contextlib.suppress(SyntaxError, ValueError):  # which the interpreter of the user may read
            for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    names.update(alias.name.partition(".")[0] for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    names.add(node.module.partition(".")[0])
    return names - {script.stem for script in scripts}


def _lacking_modules(python: str, names: Sequence[str]) -> set[str]:
    """Return the modules that an interpreter has not."""
    ask = "import importlib.util as u, sys; print(*(name for name in sys.argv[1:] if u.find_spec(name) is None))"
    try:
        asked = subprocess.run(  # noqa: S603  # the interpreter that the user names
            [python, "-c", ask, *names], capture_output=True, text=True, check=True, timeout=_ASK_SECONDS
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ArgumentError(f"python={python!r} does not run: {error}") from error
    return set(asked.stdout.split())


def _lacking_extensions(scripts: Sequence[Path], programs: Path) -> list[str]:
    """Return the extensions that programs create, and the server has not."""
    wanted = {name for script in scripts for name in _EXTENSION.findall(script.read_text(encoding="utf-8"))}
    if not wanted:
        return []
    try:
        asked = subprocess.run(  # noqa: S603  # the machine's own program
            [programs / "pg_config", "--sharedir"], capture_output=True, text=True, check=True, timeout=_ASK_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return []  # the preparation finds it out
    offered = Path(asked.stdout.strip()) / "extension"
    return sorted(name for name in wanted if not (offered / f"{name}.control").is_file())
