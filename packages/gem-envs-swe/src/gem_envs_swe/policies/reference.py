"""The policies that know a task's solution, or do nothing: :class:`SweReferencePolicy`, :class:`SweNullPolicy`."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Mapping
from typing import Any

from gem.core import Action, Info
from gem.policies import Policy
from gem_envs_swe.env import SweEnv
from gem_terminal.actions import MOST_CALLS

__all__ = ["SweNullPolicy", "SweReferencePolicy", "bash_call", "writing_command"]


def bash_call(command: str) -> dict[str, Any]:
    """Return a message that runs one command."""
    return {"role": "assistant", "content": None, "tool_calls": [_call(command)]}


def _call(command: str) -> dict[str, Any]:
    arguments = {"command": command, "timeout_secs": 120}
    return {"id": "0", "type": "function", "function": {"name": "bash", "arguments": arguments}}


def writing_command(path: str, text: str | None) -> str:
    """Return the command that gives a file a content, or removes it if that is None."""
    where = shlex.quote(path)
    if text is None:
        return f"rm -f {where}"
    content = base64.encodebytes(text.encode(errors="surrogateescape")).decode()
    return f"mkdir -p \"$(dirname {where})\" && base64 -d > {where} <<'END'\n{content}END"


class SweReferencePolicy(Policy[Any, Action]):
    """Writes the files of the solution and submits, which proves that the task can be solved."""

    def __init__(self, env: SweEnv) -> None:
        self._env = env
        self._left: list[str] | None = None

    def reset(self, observation: Any, info: Info) -> None:
        self._left = None

    def act(self, observation: Any, info: Info) -> Action:
        """Return the next action."""
        if self._left is None:
            self._left = _commands(self._env.swe_task.solved)
        if not self._left:
            return self._env.closing_action
        some, self._left = self._left[:MOST_CALLS], self._left[MOST_CALLS:]
        return {"role": "assistant", "content": None, "tool_calls": [_call(command) for command in some]}


class SweNullPolicy(Policy[Any, Action]):
    """Submits at once."""

    def __init__(self, env: SweEnv) -> None:
        self._env = env

    def act(self, observation: Any, info: Info) -> Action:
        """Return the last action."""
        return self._env.closing_action


def _commands(files: Mapping[str, str | None]) -> list[str]:
    return [writing_command(path, text) for path, text in sorted(files.items())]
