"""How AgentGym's environment servers differ: names of fields, shapes of answers.

The table is that of the servers in AgentGym's repository in May 2026 (``agentenv-*/``). All of them have ``create``,
``reset``, ``step`` and ``observation``. Most describe themselves (``/openapi.json``), and then
:func:`recognised` finds the dialect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["DIALECTS", "ServerDialect", "recognised"]


_LINE = re.compile(r"(?:^|\n)[ \t]*Action:[ \t]*\n?([^\n]*)")
_FENCE = re.compile(r"```([^`]*)```")


@dataclass(frozen=True)
class ServerDialect:
    """One server's names."""

    id_field: str
    """The field that names the session in every request."""
    task_field: str
    """The field of ``reset`` that chooses the task."""
    observation_field: str = "observation"
    """The field of a step's answer that the agent sees."""
    created_with_task: bool = False
    """Whether ``create`` needs a task as well, in the field ``id``."""
    reset_fields: Mapping[str, Any] = field(default_factory=dict)
    """Further fields that ``reset`` needs, with the value that the published client sends."""
    closes: bool = False
    """Whether there is a path ``close``. Without one, the server keeps a session until it ends."""
    hint: str = ""
    """The possible actions, where the server's own texts do not tell."""
    mark: re.Pattern[str] = _LINE
    """Finds the actions in an agent's answer; the last one counts, and the whole answer where there is none."""
    form: str = (
        "End your answer with a line 'Action: ' and the action; without such a line, the whole answer is the action."
    )


_CRAFTING = (
    "Actions: 'get N ITEM' takes a raw material, 'craft N ITEM using N ITEM, N ITEM, …' follows one of the commands, "
    "'inventory' lists what you have."
)
_SCIENCE = (
    "Actions: open OBJ, close OBJ, activate OBJ, deactivate OBJ, connect OBJ to OBJ, disconnect OBJ, use OBJ, use OBJ "
    "on OBJ, look around, look at OBJ, look in OBJ, read OBJ, move OBJ to OBJ, pick up OBJ, put down OBJ, pour OBJ "
    "into OBJ, dunk OBJ into OBJ, mix OBJ, go to PLACE, eat OBJ, flush OBJ, focus on OBJ, wait, wait1, task, inventory."
)
_BROWSING = (
    "Actions: click [id], type [id] [text] [1 to press Enter, else 0], hover [id], press [keys], scroll [down or up], "
    "new_tab, tab_focus [number], close_tab, goto [url], go_back, go_forward, stop [answer]."
)

DIALECTS: Mapping[str, ServerDialect] = {
    "textcraft": ServerDialect("id", "data_idx", closes=True, hint=_CRAFTING),
    "babyai": ServerDialect("id", "data_idx", closes=True),
    "sciworld": ServerDialect("id", "data_idx", closes=True, hint=_SCIENCE),
    "alfworld": ServerDialect("id", "game", reset_fields={"world_type": "Text"}),
    "maze": ServerDialect("id", "game"),
    "wordle": ServerDialect("id", "seed"),
    "webshop": ServerDialect("env_idx", "session_id", "state"),
    "sqlgym": ServerDialect("env_idx", "item_id", "state"),
    "searchqa": ServerDialect("env_idx", "id", created_with_task=True, closes=True),
    "tool": ServerDialect("env_idx", "id", created_with_task=True),
    "webarena": ServerDialect(
        "env_idx",
        "idx",
        reset_fields={"seed": 0},
        closes=True,
        hint=_BROWSING,
        mark=_FENCE,
        form="Put the action into triple backticks at the end of your answer.",
    ),
}
"""Name → dialect. ``maze`` and ``wordle`` are paths of one server (LMRL-Gym), ``tool`` is that of five servers."""


def recognised(document: Any, path: str) -> str | None:
    """Return the name of the dialect that a server's OpenAPI document describes; None if it describes none of them.

    Args:
        document: the JSON of ``/openapi.json``.
        path: the path of the environment on its server, such as ``/maze``; mostly empty.
    """
    try:
        paths, schemas = document["paths"], document["components"]["schemas"]
        body = paths[f"{path}/reset"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        reset = set(schemas[body["$ref"].rpartition("/")[2]]["properties"])
        closes = f"{path}/close" in paths
        of_its_own = {"textcraft": f"{path}/commands" in paths, "sciworld": f"{path}/task_description" in paths}
    except (LookupError, TypeError, AttributeError):
        return None
    fitting = [
        name
        for name, dialect in DIALECTS.items()
        if reset == {dialect.id_field, dialect.task_field, *dialect.reset_fields} and closes == dialect.closes
    ]
    # Three servers agree in all names, and two of them have a path that no other has.
    return next(
        (name for name in fitting if of_its_own.get(name)), next((n for n in fitting if n not in of_its_own), None)
    )
