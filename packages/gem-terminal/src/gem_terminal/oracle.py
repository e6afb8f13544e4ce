"""The policy that plays the solution of a task: :class:`OracleSolutionPolicy`."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem.core import Action, Info
from gem.errors import NotSupportedError
from gem.policies import Policy
from gem_terminal.actions import MOST_CALLS
from gem_terminal.env import TerminalEnv

__all__ = ["OracleSolutionPolicy"]


class OracleSolutionPolicy(Policy[Any, Action]):
    """Plays the author's solution of a task and finishes, which proves that the task is solvable.

    In a task with several steps, it plays the solution of each. A script is played as one command. A list of commands
    is split into messages of the largest allowed size.
    """

    def __init__(self, env: TerminalEnv) -> None:
        self._env = env
        self._left: list[dict[str, Any]] | None = None
        self._step: Any = None

    def reset(self, observation: Any, info: Info) -> None:
        self._left, self._step = None, info.get("step")

    def act(self, observation: Any, info: Info) -> Action:
        """Return the next action.

        Raises:
            NotSupportedError: if the task has no solution.
        """
        if self._left is None or info.get("step") != self._step:
            self._left, self._step = self._calls(), info.get("step")
        if not self._left:
            return "<finish/>"
        calls, self._left = self._left[:MOST_CALLS], self._left[MOST_CALLS:]
        return {"role": "assistant", "content": None, "tool_calls": calls}

    def _calls(self) -> list[dict[str, Any]]:
        task = self._env.task
        if task.solution is None:
            raise NotSupportedError(f"the task {task.name} brings no solution")
        if task.solution.suffix == ".yaml":
            return _typed(task.solution)
        command = _played(task.solution, task.solution_environment)
        return [_call("bash", {"command": command, "timeout_secs": task.seconds or 600.0})]


def _played(solution: Path, environment: Mapping[str, str]) -> str:
    """Return the command that copies a script with its folder and runs it: in ``/solution``, as Harbor does, if the
    user can write there, and in a temporary folder otherwise.
    """
    folder = solution.parent if solution.name == "solve.sh" else None
    files = sorted(path for path in folder.rglob("*") if path.is_file()) if folder else [solution]
    lines = ['oracle=/solution; mkdir -p "$oracle" 2>/dev/null && [ -w "$oracle" ] || oracle=$(mktemp -d)']
    for path in files:
        name = path.relative_to(solution.parent)
        where = f'"$oracle"/{shlex.quote(str(name))}'
        content = base64.encodebytes(path.read_bytes()).decode()
        lines += [
            f'mkdir -p "$(dirname {where})"',
            f"base64 -d > {where} <<'END'",
            f"{content}END",
            f"chmod +x {where}",
        ]
    told = " ".join(f"{name}={shlex.quote(value)}" for name, value in environment.items())
    # In a separate shell, so that `set -e` ends the script and not the shell of the episode.
    lines.append(f'{told} bash "$oracle"/{shlex.quote(solution.name)}'.strip())
    return "\n".join(lines)


def _typed(solution: Path) -> list[dict[str, Any]]:
    """Return the calls of a ``solution.yaml``: shell commands if each waits for its predecessor, keys otherwise."""
    from gem_terminal.formats.terminal_bench import steps_of

    steps = steps_of(solution)
    if all(step.block and step.append_enter for step in steps):
        return [_call("bash", {"command": step.command, "timeout_secs": step.max_timeout_sec}) for step in steps]
    return [
        _call(
            "send_keys",
            {
                "keys": [step.command, *(["Enter"] if step.append_enter else [])],
                "timeout_secs": step.max_timeout_sec if step.block else max(step.min_timeout_sec, 1.0),
                "wait_secs": step.min_timeout_sec,
            },
        )
        for step in steps
    ]


def _call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"id": "oracle", "type": "function", "function": {"name": name, "arguments": arguments}}
