"""Plays environments of verifiers before 0.4 in a process and a Python of their own, for ``line_server.py``.

Those releases and the packages made for them need other versions of the libraries than verifiers 0.4 does, and many
draw from Python's global generator. A rollout runs in the library's own loop, with its tools, stop conditions and
rubric. The model is a client that passes each request on and waits for the answer. The script needs no package of GEM.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import sys
from importlib import import_module
from typing import Any

_ROLLOUTS: dict[int, Rollout] = {}  # number of a rollout -> what plays it
_LOADED: dict[str, Any] = {}  # "env" and "rows" of the loaded package
_LOOP = asyncio.new_event_loop()
asyncio.set_event_loop(_LOOP)
os.environ.setdefault("VF_LOG_LEVEL", "ERROR")
logging.disable(logging.WARNING)


class Rollout:
    """A rollout of one row, which stops at each request to the model."""

    def __init__(self, row: int, seed: int) -> None:
        random.seed(seed)
        if "numpy" in sys.modules:
            import_module("numpy").random.seed(seed % 2**32)
        self._requests: asyncio.Queue[tuple[dict[str, Any], asyncio.Future[Any]]] = asyncio.Queue()
        self._answer: asyncio.Future[Any] | None = None
        self._played = asyncio.ensure_future(
            _LOADED["env"].run_rollout(_LOADED["rows"][row], _model_client(self._ask), "gem", {})
        )

    async def _ask(self, request: dict[str, Any]) -> Any:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        await self._requests.put((request, answer))
        return await answer

    async def shown(self, message: dict[str, Any] | None) -> dict[str, Any]:
        """Answer the last request; return the next one, or the scored result."""
        if message is not None and self._answer is not None:
            self._answer.set_result(message)
        request = asyncio.ensure_future(self._requests.get())
        await asyncio.wait({request, self._played}, return_when=asyncio.FIRST_COMPLETED)
        if request.done():
            asked, self._answer = request.result()
            return asked
        request.cancel()
        output = self._played.result()
        return {
            "completion": _plain(output.get("completion") or []),
            "reward": float(output.get("reward") or 0.0),
            "metrics": {name: float(value) for name, value in (output.get("metrics") or {}).items()},
            "error": None if output.get("error") is None else str(_plain(output["error"])),
            "stop_condition": output.get("stop_condition"),
            "threshold": float(getattr(_LOADED["env"], "pass_threshold", 0.5)),
        }

    async def close(self) -> None:
        """End the rollout."""
        self._played.cancel()
        await asyncio.wait({self._played})


def _model_client(ask: Any) -> Any:
    chat: Any = import_module("verifiers.clients").OpenAIChatCompletionsClient
    completion = import_module("openai.types.chat").ChatCompletion

    class WaitingClient(chat):
        """A model whose answers come from outside."""

        async def get_native_response(
            self, prompt: Any, model: str, sampling_args: Any, tools: Any = None, **kwargs: Any
        ) -> Any:
            message = await ask({"messages": _plain(prompt), "tools": _plain(tools or [])})
            why = "tool_calls" if message.get("tool_calls") else "stop"
            choice = {"index": 0, "finish_reason": why, "message": message}
            return completion.model_validate(
                {"id": "gem", "object": "chat.completion", "created": 0, "model": model, "choices": [choice]}
            )

        async def close(self) -> None:
            """Hold nothing."""

    return WaitingClient(None)


def _plain(value: Any) -> Any:
    """Return what JSON can hold."""
    if hasattr(value, "model_dump"):
        value = value.model_dump(exclude_none=True)
    if isinstance(value, dict):
        return {str(key): _plain(held) for key, held in value.items() if held is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(held) for held in value]
    return value if isinstance(value, (str, int, float, bool)) else str(value)


def _load(request: dict[str, Any]) -> dict[str, Any]:
    os.environ.update(request["variables"])
    if request["folder"]:
        sys.path.insert(0, request["folder"])
    verifiers = import_module("verifiers")
    try:
        base = import_module("verifiers.envs.environment").Environment
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("verifiers.envs"):
            raise
        raise ValueError(
            f"verifiers {getattr(verifiers, '__version__', '')} has no environments of the old form any more"
        ) from None
    random.seed(0)  # some draw their rows while they are loaded
    env = import_module(request["package"]).load_environment(**request["args"])
    if not isinstance(env, base):
        raise TypeError(f"load_environment returned a {type(env).__name__}, no Environment of verifiers")
    if getattr(env, "requires_group_rollouts", False):
        raise ValueError("its rubric compares the rollouts of a group, and an episode is one rollout")
    rows = env.get_dataset() if request["split"] == "train" else env.get_eval_dataset()
    _LOADED.update(env=env, rows=rows)
    return {"rows": len(rows)}


async def _answered(request: dict[str, Any]) -> dict[str, Any]:
    op = request["op"]
    if op == "load":
        return _load(request)
    number = request["game"]
    if op == "close":
        rollout = _ROLLOUTS.pop(number, None)
        if rollout is not None:
            await rollout.close()
        return {}
    if op == "open":
        _ROLLOUTS[number] = Rollout(request["row"], request["seed"])
    return await _ROLLOUTS[number].shown(request.get("message"))


def answered(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request."""
    return _LOOP.run_until_complete(_answered(request))
