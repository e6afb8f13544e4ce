"""The reference policy, which plays the golden plan, one call a turn."""

from __future__ import annotations

import json
from typing import Any

import gem
from gem.core import Info
from gem_envs_office.env import FINISH, call_text
from gem_envs_office.task import OfficeCall

__all__ = ["OfficePolicy", "bound_arguments", "returned_key"]


class OfficePolicy(gem.Policy[str, str]):
    """Reads the golden plan from the environment, and the keys of new rows from the answers."""

    def __init__(self, env: gem.Env[Any, Any]) -> None:
        self.env = env
        self._left: list[OfficeCall] = []
        self._bound: dict[str, str] = {}
        self._last: OfficeCall | None = None

    def reset(self, observation: str, info: Info) -> None:
        env: Any = self.env.unwrapped
        self._left, self._bound, self._last = list(env.current.gold)[::-1], {}, None

    def act(self, observation: str, info: Info) -> str:
        if self._last is not None and self._last.binds:
            answer = observation.partition(f"Result of {self._last.tool}: ")[2].strip().splitlines()[0]
            self._bound[f"${self._last.binds}"] = returned_key(json.loads(answer))
        if not self._left:
            return call_text(FINISH, {})
        self._last = self._left.pop()
        return call_text(self._last.tool, bound_arguments(self._last.arguments, self._bound))


def bound_arguments(value: Any, bound: dict[str, str]) -> Any:
    """Return arguments in which names of keys are replaced by the keys."""
    if isinstance(value, dict):
        return {name: bound_arguments(one, bound) for name, one in value.items()}
    if isinstance(value, list):
        return [bound_arguments(one, bound) for one in value]
    return bound.get(value, value) if isinstance(value, str) else value


def returned_key(data: Any) -> str:
    """Return the key that a tool's answer names first."""
    return str(next(iter(data.values())))
