"""One client's environment behind an MCP server: the answers of ``reset``, ``step`` and the environment's own tools."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gem.core import Env
from gem.errors import EpisodeFinishedError, GemError, ResetNeededError

__all__ = ["RESET", "STEP", "EpisodeAnswer", "Episodes", "failure", "native_call", "tool_schemas", "unknown_arguments"]

RESET, STEP = "reset", "step"

_LONGEST_ERROR = 1000

_OUTPUT = {
    "type": "object",
    "properties": {
        "observation": {"type": "string", "description": "The observation as text."},
        "reward": {"type": "number"},
        "terminated": {"type": "boolean", "description": "The task is decided."},
        "truncated": {"type": "boolean", "description": "The episode was ended by a limit."},
        "info": {"type": "object"},
    },
    "required": ["observation", "reward", "terminated", "truncated", "info"],
}


@dataclass(frozen=True)
class EpisodeAnswer:
    """The answer to a call."""

    content: tuple[Mapping[str, Any], ...]
    """OpenAI-style content parts."""
    data: Mapping[str, Any] | None = None
    """The same as structured data: observation, reward, terminated, truncated and info."""
    ok: bool = True


class Episodes:
    """An environment, created on first use, and one client's episodes in it. Safe in any thread.

    Args:
        make: creates the environment.
        seed: the seed of the first episode, unless the client chooses one. Later episodes continue its random numbers.
    """

    def __init__(self, make: Callable[[], Env[Any, Any]], seed: int | None = None) -> None:
        self._make = make
        self._seed = seed
        self._env: Env[Any, Any] | None = None
        self._lock = threading.Lock()

    def call(self, name: str, arguments: Mapping[str, Any]) -> EpisodeAnswer:
        """Carry out a call of a tool of :func:`tool_schemas`. Never raises; an error becomes an answer."""
        with self._lock:
            try:
                if name == RESET:
                    return self._reset(arguments)
                if name == STEP:
                    return self._step(_action(arguments))
                return self._step(native_call(name, arguments))
            except (EpisodeFinishedError, ResetNeededError):
                return failure("no episode is in progress; call reset to begin one")
            except GemError as error:
                return failure(str(error))
            except Exception as error:  # the server must survive any error of the environment
                self._close()
                return failure(f"the environment failed; call reset to begin again: {type(error).__name__}: {error}")

    def close(self) -> None:
        """Close the environment. A second call does nothing."""
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
            raise ResetNeededError("no episode has begun")
        return _answer(*self._env.step(action))


def tool_schemas(env: Env[Any, Any]) -> list[dict[str, Any]]:
    """Return the tools of a server for this environment, each with name, description, input schema and output schema.

    They include the tools of a :class:`gem.tools.ToolEnvWrapper`, except tools named ``reset`` or ``step``.
    """
    description = getattr(env.spec, "description", "") or "An environment."
    offered = [
        {
            "name": RESET,
            "description": f"Begin a new episode and return its task. {description}",
            "input_schema": {
                "type": "object",
                "properties": {
                    "seed": {"type": "integer", "minimum": 0, "description": "The seed of the episode; optional."}
                },
                "additionalProperties": False,
            },
            "output_schema": _OUTPUT,
        },
        {
            "name": STEP,
            "description": "Play one turn of the episode; returns the observation and the reward.",
            "input_schema": {
                "type": "object",
                "properties": {
                    "action": {"type": "string", "description": "The action in the format that the task requires."},
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


def unknown_arguments(name: str, arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> EpisodeAnswer | None:
    """Return the answer to a call with arguments that its tool does not take, or None.

    Args:
        name: the tool.
        arguments: those of the call.
        schema: the input schema of the tool, which forbids others by ``additionalProperties``.
    """
    if schema.get("additionalProperties") is not False:
        return None
    known = schema.get("properties", {})
    unknown = [argument for argument in arguments if argument not in known]
    if not unknown:
        return None
    taken = ", ".join(known) or "no arguments"
    return failure(f"{name} has no argument {unknown[0][:64]!r}; it takes {taken}")


def _action(arguments: Mapping[str, Any]) -> Any:
    # A step without the argument is a malformed action, like any other invalid one.
    return arguments.get("action", "")


def native_call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call of a tool as the action of a model that calls tools natively."""
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
        parts.append({"type": "text", "text": _outcome_text(reward, terminated or truncated, info)})
    data = {
        "observation": text,
        "reward": float(reward),
        "terminated": bool(terminated),
        "truncated": bool(truncated),
        "info": dict(info),
    }
    return EpisodeAnswer(tuple(parts), data)


def _outcome_text(reward: float, is_over: bool, info: Mapping[str, Any]) -> str:
    """Return the facts that an agent with text output only must know."""
    over = "; the episode has ended, call reset for another one" if is_over else ""
    won = info.get("success", info.get("correct"))
    how = "" if not is_over or not isinstance(won, bool) else "; solved" if won else "; not solved"
    return f"[reward {reward:g}{how}{over}]"


def failure(message: str) -> EpisodeAnswer:
    """Return the answer to a call that could not be carried out."""
    return EpisodeAnswer(({"type": "text", "text": f"Error: {message[:_LONGEST_ERROR]}"},), ok=False)
