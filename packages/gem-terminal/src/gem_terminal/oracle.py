"""The policy that plays a task's own solution: :class:`OraclePolicy`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gem.core import Action, Info
from gem.errors import NotSupportedError
from gem.policies import Policy
from gem_terminal.env import TerminalEnv

__all__ = ["OraclePolicy"]


class OraclePolicy(Policy[Any, Action]):
    """Runs the solution that the task brings, in one command, and finishes: it proves that the task can be solved."""

    def __init__(self, env: TerminalEnv) -> None:
        self._env = env
        self._acted = False

    def reset(self, observation: Any, info: Info) -> None:
        self._acted = False

    def act(self, observation: Any, info: Info) -> Action:
        """Return the next action.

        Raises:
            NotSupportedError: if the task brings no solution.
        """
        if self._acted:
            return "<finish/>"
        self._acted = True
        solution = self._env.task.solution
        if solution is None:
            raise NotSupportedError(f"the task {self._env.task.name} brings no solution")
        if solution.suffix == ".yaml":
            return {"role": "assistant", "content": None, "tool_calls": _typed(solution)}
        script = solution.read_text(encoding="utf-8")
        # In a shell of its own, so that `set -e` ends the script and not the episode's shell.
        arguments = {"command": f"bash <<'END-OF-SOLUTION'\n{script}\nEND-OF-SOLUTION", "timeout_secs": 120}
        return {"role": "assistant", "content": None, "tool_calls": [_call("bash", arguments)]}


def _typed(solution: Path) -> list[dict[str, Any]]:
    """Return the calls for the commands of a ``solution.yaml``: in the shell, if each of them waits for the last."""
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
            },
        )
        for step in steps
    ]


def _call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"id": "oracle", "type": "function", "function": {"name": name, "arguments": arguments}}
