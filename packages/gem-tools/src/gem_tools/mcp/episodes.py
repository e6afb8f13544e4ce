"""One client's environment behind an MCP server: what ``reset``, ``step`` and the environment's own tools answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gem.core import Env
from gem.errors import EpisodeFinishedError, GemError, ResetNeededError

__all__ = ["RESET", "STEP", "EpisodeAnswer", "Episodes", "tool_schemas"]

RESET, STEP = "reset", "step"

_LONGEST_ERROR = 1000

_OUTPUT = {
    "type": "object",
    "properties": {
        "observation": {"type": "string", "description": "The text of what the agent sees."},
        "reward": {"type": "number"},
        "terminated": {"type": "boolean", "description": "The task is decided."},
        "truncated": {"type": "boolean", "description": "The episode was ended by a limit."},
        "info": {"type": "object"},
    },
    "required": ["observation", "reward", "terminated", "truncated", "info"],
}


@dataclass(frozen=True)
class EpisodeAnswer:
    """What a call comes to."""

    content: tuple[Mapping[str, Any], ...]
    """OpenAI-style content parts."""
    data: Mapping[str, Any] | None = None
    """The same for programs: observation, reward, terminated, truncated and info."""
    ok: bool = True


class Episodes:
    """An environment, made on first use, and the episodes that one client plays in it. Safe in any thread.

    Args:
        make: makes the environment.
        seed: of the first episode, unless the client chooses one. Those after it go on from there.
    """

    def __init__(self, make: Callable[[], Env[Any, Any]], seed: int | None = None) -> None:
        self._make = make
        self._seed = seed
        self._env: Env[Any, Any] | None = None
        self._lock = threading.Lock()

    def call(self, name: str, arguments: Mapping[str, Any]) -> EpisodeAnswer:
        """Carry out a call of a tool of :func:`tool_schemas`. Nothing raises; what fails says why."""
        with self._lock:
            try:
                if name == RESET:
                    return self._reset(arguments)
                if name == STEP:
                    return self._step(_action(arguments))
                return self._step(_native_call(name, arguments))
            except (EpisodeFinishedError, ResetNeededError):
                return _failure("no episode is going on; call reset to begin one")
            except GemError as error:
                return _failure(str(error))
            except Exception as error:  # whatever the environment did, its server goes on
                self._close()
                return _failure(f"the environment failed, call reset to begin anew: {type(error).__name__}: {error}")

    def close(self) -> None:
        """Close the environment. Calling it again does nothing."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        env, self._env = self._env, None
        if env is not None:
            env.close()

    def _reset(self, arguments: Mapping[str, Any]) -> EpisodeAnswer:
        seed = arguments.get("seed", self._seed)
        if self._env is None:
            self._env = self._make()
        observation, info = self._env.reset(seed=seed)
        self._seed = None
        return _answer(observation, 0.0, False, False, info)

    def _step(self, action: Any) -> EpisodeAnswer:
        if self._env is None:
            raise ResetNeededError("the environment has not begun")
        return _answer(*self._env.step(action))


def tool_schemas(env: Env[Any, Any]) -> list[dict[str, Any]]:
    """Return what a server of this environment offers: name, description, and input and output schema each.

    The tools of a :class:`gem.tools.ToolEnvWrapper` are among them, unless one is called ``reset`` or ``step``.
    """
    description = getattr(env.spec, "description", "") or "An environment."
    offered = [
        {
            "name": RESET,
            "description": f"Begin a new episode and see what the task is. {description}",
            "input_schema": {
                "type": "object",
                "properties": {
                    "seed": {"type": "integer", "minimum": 0, "description": "Which episode; may be left out."}
                },
                "additionalProperties": False,
            },
            "output_schema": _OUTPUT,
        },
        {
            "name": STEP,
            "description": "Act in the episode: play one turn, and see what came of it and what it was worth.",
            "input_schema": {
                "type": "object",
                "properties": {
                    "action": {"type": "string", "description": "In the form that the task asks for."},
                },
                "required": ["action"],
                "additionalProperties": False,
            },
            "output_schema": _OUTPUT,
        },
    ]
    for schema in getattr(env, "tool_schemas", []):
        function = schema["function"]
        if function["name"] not in (RESET, STEP):
            offered.append(
                {
                    "name": function["name"],
                    "description": function["description"],
                    "input_schema": function["parameters"],
                    "output_schema": _OUTPUT,
                }
            )
    return offered


def _action(arguments: Mapping[str, Any]) -> Any:
    # Without the argument the step is a malformed action, as any other that the environment does not understand.
    return arguments.get("action", "")


def _native_call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(dict(arguments))}
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "call", "type": "function", "function": function}],
    }


def _answer(
    observation: Any, reward: float, terminated: bool, truncated: bool, info: Mapping[str, Any]
) -> EpisodeAnswer:
    if isinstance(observation, str):
        parts: list[Mapping[str, Any]] = [{"type": "text", "text": observation}]
    else:
        parts = list(observation)
    text = "\n".join(part["text"] for part in parts if part.get("type") == "text")
    if terminated or truncated or reward:
        parts.append({"type": "text", "text": _verdict(reward, terminated or truncated, info)})
    data = {
        "observation": text,
        "reward": float(reward),
        "terminated": bool(terminated),
        "truncated": bool(truncated),
        "info": dict(info),
    }
    return EpisodeAnswer(tuple(parts), data)


def _verdict(reward: float, is_over: bool, info: Mapping[str, Any]) -> str:
    """Return what an agent that sees text alone has to know."""
    over = "; the episode has ended, call reset for another" if is_over else ""
    won = info.get("success", info.get("correct"))
    how = "" if not is_over or not isinstance(won, bool) else "; solved" if won else "; not solved"
    return f"[reward {reward:g}{how}{over}]"


def _failure(message: str) -> EpisodeAnswer:
    return EpisodeAnswer(({"type": "text", "text": f"Error: {message[:_LONGEST_ERROR]}"},), ok=False)
