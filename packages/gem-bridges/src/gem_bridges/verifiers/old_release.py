"""Environment packages of verifiers 0.1.11 to 0.3, for ``worker.py``: ``load_environment``, rows and a rubric."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

_LOADED: dict[str, Any] = {}  # "env" and "rows" of the loaded package


async def load(request: dict[str, Any]) -> int:
    """Load a package; return the number of its rows."""
    if request["config"]:
        raise ValueError("config is for task sets of verifiers 0.4; this release takes args alone")
    base = import_module("verifiers.envs.environment").Environment
    env = import_module(request["package"]).load_environment(**request["args"])
    if not isinstance(env, base):
        raise TypeError(f"load_environment returned a {type(env).__name__}, no Environment of verifiers")
    if getattr(env, "requires_group_rollouts", False):
        raise ValueError("its rubric compares the rollouts of a group, and an episode is one rollout")
    rows = env.get_eval_dataset() if request["split"] == "eval" else env.get_dataset()
    _LOADED.update(env=env, rows=rows)
    return len(rows)


async def play(row: int, ask: Callable[[dict[str, Any]], Awaitable[Any]]) -> dict[str, Any]:
    """Play and score a row.

    Args:
        row: its place.
        ask: returns the model's answer to ``messages`` and ``tools``.
    """
    output = await _LOADED["env"].run_rollout(_LOADED["rows"][row], _model_client(ask), "gem", {})
    return {
        "completion": output.get("completion") or [],
        "reward": float(output.get("reward") or 0.0),
        "metrics": {name: float(value) for name, value in (output.get("metrics") or {}).items()},
        "error": output.get("error"),
        "stop_condition": output.get("stop_condition"),
        "threshold": float(getattr(_LOADED["env"], "pass_threshold", 0.5)),
    }


async def end() -> None:
    """Hold nothing."""


def _model_client(ask: Callable[[dict[str, Any]], Awaitable[Any]]) -> Any:
    chat: Any = import_module("verifiers.clients").OpenAIChatCompletionsClient
    completion = import_module("openai.types.chat").ChatCompletion

    class WaitingClient(chat):
        """A model whose answers come from outside."""

        async def get_native_response(
            self, prompt: Any, model: str, sampling_args: Any, tools: Any = None, **kwargs: Any
        ) -> Any:
            message = await ask({"messages": prompt, "tools": tools or []})
            why = "tool_calls" if message.get("tool_calls") else "stop"
            choice = {"index": 0, "finish_reason": why, "message": message}
            return completion.model_validate(
                {"id": "gem", "object": "chat.completion", "created": 0, "model": model, "choices": [choice]}
            )

        async def close(self) -> None:
            """Hold nothing."""

    return WaitingClient(None)
