"""A running company: :class:`OfficeWorld` carries calls out, with permissions, colleagues and the log."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from gem.tools import ToolResult
from gem_envs_office.colleagues import ColleagueScript, ColleagueVoice, answered, plainly
from gem_envs_office.declarations import company
from gem_envs_office.office import Office
from gem_envs_office.policies import Rulebook
from gem_envs_office.store import IN_MEMORY, OfficeStore, Row
from gem_envs_office.tools import OfficeTool, office_tools
from gem_envs_office.values import OfficeRefusalError, read_values

__all__ = ["OfficeWorld"]

_LONGEST_ARGUMENTS = 4000
"""Characters that the log keeps."""


class OfficeWorld:
    """The state, the rules and the colleagues of one episode.

    Args:
        tables: table → rows.
        today: the date.
        rulebook: the policies of the company.
        script: what the colleagues know and do.
        path: a file for the state, which several processes share; in memory without one.
    """

    def __init__(
        self,
        tables: Mapping[str, Iterable[Mapping[str, Any]]],
        today: str,
        rulebook: Rulebook,
        script: ColleagueScript | None = None,
        path: str = IN_MEMORY,
    ) -> None:
        self.store = OfficeStore(tables, path)
        self.today, self.rulebook = today, rulebook
        self.script = script or ColleagueScript()
        self.voice: ColleagueVoice = plainly
        """The words in which colleagues answer; they change nothing else."""

    def call(self, employee_id: str, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Carry out a call as an employee; a refused one says why and changes nothing but the log."""
        actor = self.store.get("employees", employee_id)
        if actor is None:
            return ToolResult(f"There is no employee {employee_id!r:.40}.", ok=False)
        self.store.begin()
        try:
            data = self._performed(actor, name, arguments)
        except OfficeRefusalError as error:
            self.store.end(keep=False)
            self._log_denied(actor, name, arguments)
            return ToolResult(str(error), ok=False)
        except (sqlite3.Error, OverflowError) as error:
            self.store.end(keep=False)
            return ToolResult(f"{name} cannot be carried out with these arguments: {error}.", ok=False)
        self.store.end(keep=True)
        return ToolResult(json.dumps(data, ensure_ascii=False), data=data)

    def close(self) -> None:
        """Discard the state."""
        self.store.close()

    def _performed(self, actor: Row, name: str, arguments: Mapping[str, Any]) -> Any:
        tool = self._tool(name)
        self._check_permission(actor, tool)
        given = read_values(self.store, name, tool.arguments, arguments)
        office = Office(self.store, actor, self.today)
        if tool.run is None:
            data = answered(office, self.script, name, given, self._asked, self.voice)
        else:
            data = tool.run(office, **given)
        if tool.changes or tool.confidential:
            self._log(actor, name, arguments, "done" if tool.changes else "read")
        return data

    def _asked(self, colleague: Row, name: str, arguments: Mapping[str, Any]) -> Any:
        """Carry out a call as a colleague, who keeps to the policies."""
        tool = self._tool(name)
        if not tool.changes or tool.run is None:
            raise OfficeRefusalError(f"{name} is nothing that you would need me for.")
        before = self.rulebook.violations(self.store)
        self.store.query("SAVEPOINT asked")
        try:
            data = self._performed(colleague, name, arguments)
            broken = [one for one in self.rulebook.violations(self.store) if one not in before]
            if broken:  # its keys are of rows that will not be there
                raise OfficeRefusalError(f"It is against the policy: {broken[0].partition(' (')[0]}.")
        except OfficeRefusalError:
            self.store.query("ROLLBACK TO asked")
            raise
        finally:
            self.store.query("RELEASE asked")
        return data

    def _tool(self, name: str) -> OfficeTool:
        tools = office_tools()
        if name not in tools:
            near = get_close_matches(name[:80], tools, n=3)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            raise OfficeRefusalError(f"There is no tool {name!r:.80}.{hint}")
        return tools[name]

    def _check_permission(self, actor: Row, tool: OfficeTool) -> None:
        if self._may(actor, tool):
            return
        declared = company()
        able = [name for name in declared.roles if declared.may_write(name, tool.department)]
        marks = ", ".join("?" * len(able))
        people = self.store.query(
            f"SELECT employee_id FROM employees WHERE role IN ({marks}) AND status = 'active' ORDER BY rowid",  # noqa: S608
            able,
        )
        deed = "change" if tool.changes else "read this of"
        who = ", ".join(row["employee_id"] for row in people[:4]) or "nobody"
        title = declared.roles[actor["role"]].title
        raise OfficeRefusalError(
            f"Denied: {tool.name} belongs to {tool.department}, which a {title} may not {deed}. "
            f"Those who may: {who} (request_action)."
        )

    def _may(self, actor: Row, tool: OfficeTool) -> bool:
        if not tool.changes and not tool.confidential:
            return True
        return company().may_write(actor["role"], tool.department)

    def _log_denied(self, actor: Row, name: str, arguments: Mapping[str, Any]) -> None:
        tool = office_tools().get(name)
        if tool is not None and not self._may(actor, tool):
            self._log(actor, name, arguments, "denied")

    def _log(self, actor: Row, name: str, arguments: Mapping[str, Any], outcome: str) -> None:
        text = json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=str)[:_LONGEST_ARGUMENTS]
        text = text.encode(errors="replace").decode()
        self.store.insert("audit_log", actor_id=actor["employee_id"], tool=name, arguments=text, outcome=outcome)
