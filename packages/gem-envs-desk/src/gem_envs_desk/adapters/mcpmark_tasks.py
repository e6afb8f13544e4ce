"""The task folders of a checkout of MCPMark: :func:`mcpmark_tasks`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from gem.errors import ArgumentError

__all__ = ["McpMarkTask", "mcpmark_tasks"]


class McpMarkTask(NamedTuple):
    """One task of the checkout; the attributes that :class:`~gem_envs_desk.mcp.tool_env.WorkspaceEnv` reads."""

    name: str
    """Category and task, such as ``"papers/find_math_paper"``."""
    text: str
    """``description.md``, as it is."""
    verifier: Path
    """``verify.py``, whose exit status decides."""
    start: Path
    """The folder that each episode gets a copy of."""
    answer: None = None
    """The folder decides alone."""


def mcpmark_tasks(checkout: Path, suite: str, category: str | None, environments: Path) -> tuple[McpMarkTask, ...]:
    """Return the tasks of the file system, sorted by name.

    Raises:
        ArgumentError: if the folder is no checkout, the suite or the category has no task, or the initial folder of a
            category is missing.
    """
    root = checkout / "tasks" / "filesystem" / suite
    if not root.is_dir():
        raise ArgumentError(f"path={str(checkout)!r} is no checkout of MCPMark: it has no tasks/filesystem/{suite}")
    found = sorted(root.glob("*/*/description.md"))
    categories = sorted({one.parent.parent.name for one in found})
    if category is not None:
        if category not in categories:
            raise ArgumentError(f"category must be one of {', '.join(categories)}, got {category!r:.80}")
        found = [one for one in found if one.parent.parent.name == category]
    if not found:
        raise ArgumentError(f"{root} holds no task; one is a folder <category>/<task> with description.md")
    tasks, missing = [], {}
    for description in found:
        folder = description.parent
        meta = _meta(folder / "meta.json")
        group = str(meta.get("category_id", folder.parent.name))
        start = environments / group
        if not start.is_dir():
            data = meta.get("meta_data")
            missing[group] = str(data.get("stateUrl")) if isinstance(data, dict) else "?"
        name = f"{folder.parent.name}/{folder.name}"
        tasks.append(McpMarkTask(name, description.read_text(encoding="utf-8"), folder / "verify.py", start))
    if missing:
        listed = "; ".join(f"{group} ({url})" for group, url in sorted(missing.items()))
        raise ArgumentError(
            f"{environments} lacks the initial folders of {listed}. Unpack MCPMark's archives there, give "
            "environments= another folder, or choose with category= one that is there"
        )
    return tuple(tasks)


def _meta(path: Path) -> dict[str, Any]:
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}  # MCPMark goes on without it, too
    return meta if isinstance(meta, dict) else {}
