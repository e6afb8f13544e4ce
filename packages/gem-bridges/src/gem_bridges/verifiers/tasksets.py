"""Task sets of verifiers 0.4, for ``worker.py``: its environments run the episodes, with its harnesses and rewards.

The model is an endpoint of this process, so that every harness which speaks the chat dialect can play.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from itertools import count
from pathlib import Path
from typing import Any

_Ask = Callable[[dict[str, Any]], Awaitable[Any]]
_HARNESS = "gem_in_process_chat"
_LOADED: dict[str, Any] = {}  # "env", "tasks" and "url", the address of the endpoint
_ASKED: dict[str, _Ask] = {}  # number of an episode -> what answers its requests
_HELD = AsyncExitStack()
_numbers = count()


async def load(request: dict[str, Any]) -> int:
    """Load a task set and start what its episodes share; return the number of its tasks."""
    from verifiers.v1.utils.loaders import import_taskset, load_environment

    if request["split"] != "train":
        raise ValueError("split is for packages of verifiers before 0.4; a task set takes such a choice in args")
    try:
        module = import_taskset(request["package"])
    except AttributeError as error:  # of names that verifiers had before 0.4
        raise ValueError(f"it is a package of the old form, and verifiers 0.4 is installed ({error})") from None
    if hasattr(module, "load_environment") and not hasattr(module, "__all__"):
        raise ValueError(f"{request['package']} is a package of the old form, and verifiers 0.4 is installed")
    config = _config(request["package"], request["args"], request["config"])
    env = load_environment(config.env)
    taskset = env.taskset
    if not taskset.bounded:
        taskset = taskset.take(request["tasks"])
    _LOADED.update(env=env, tasks=list(taskset), url=await _serve())
    await _HELD.enter_async_context(env.serving())
    return len(_LOADED["tasks"])


async def play(row: int, ask: _Ask) -> dict[str, Any]:
    """Play and score a task.

    Args:
        row: its place.
        ask: returns the model's answer to ``messages`` and ``tools``.
    """
    from verifiers.v1.clients import EvalClientConfig, ModelContext
    from verifiers.v1.dialects.chat import message_to_wire

    number = str(next(_numbers))
    _ASKED[number] = ask
    try:
        client = EvalClientConfig(base_url=f"{_LOADED['url']}/{number}", api_key_var="GEM_NO_KEY")
        (slot,) = _LOADED["env"].slots(_LOADED["tasks"][row])
        episode = await _LOADED["env"].run_slot(slot, ModelContext(model="gem", client=client))
    finally:
        del _ASKED[number]
    errors = [*episode.errors, *(error for trace in episode.traces for error in trace.errors)]
    rewards = [trace.reward for trace in episode.traces]
    last = episode.traces[-1] if episode.traces else None
    return {
        "completion": [message_to_wire(one) for one in last.branches[-1].messages] if last and last.branches else [],
        "reward": float(sum(rewards)),
        "metrics": {} if last is None else _numbers_of(last),
        "error": f"{errors[-1].type}: {errors[-1].message}" if errors else None,
        "stop_condition": None if last is None else last.stop_condition,
    }


def _numbers_of(trace: Any) -> dict[str, float]:
    """Return the metrics of a trace, and its rewards by name, weighted."""
    named = {**trace.metrics, **{name: one and one.value for name, one in trace.rewards.items()}}
    return {name: float(value) for name, value in named.items() if value is not None}


async def end() -> None:
    """Stop what :func:`load` has started."""
    await _HELD.aclose()


def _config(package: str, args: dict[str, Any], block: dict[str, Any]) -> Any:
    """Return the configuration of an evaluation, as its command would read it.

    Args:
        package: the id of the task set.
        args: the block ``[env.taskset]``.
        block: the block ``[env]`` without it.

    Raises:
        ValueError: if the environment has several agents.
    """
    from verifiers.v1.configs.agent import agent_config_fields
    from verifiers.v1.configs.cli.eval import EvalConfig
    from verifiers.v1.utils.loaders import default_harness_id

    def read(env: dict[str, Any]) -> Any:
        return EvalConfig.model_validate({"env": env, "model": "gem", "rich": None, "push": False})

    env = {**block, "taskset": {**args, "id": package}}
    roles = agent_config_fields(read(env).env)
    if len(roles) != 1:
        raise ValueError(f"it has the agents {', '.join(roles)}, and an episode has one")
    ((role, agent),) = roles.items()
    if agent.harness is None and default_harness_id(package) != package:
        # The library's own default gives the agent a shell on this machine.
        spec = spec_from_file_location(_HARNESS, Path(__file__).with_name("in_process_chat.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[_HARNESS] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[_HARNESS])
        here = {"harness": {"id": _HARNESS}, "runtime": {"type": "subprocess"}}
        env = {**env, role: {**here, **block.get(role, {})}}
    return read(env)


async def _serve() -> str:
    """Start the endpoint; return its address."""
    web: Any = import_module("aiohttp.web")
    app = web.Application(client_max_size=2**28)
    app.router.add_post("/{number}/chat/completions", _completed)
    runner = web.AppRunner(app)
    await runner.setup()
    _HELD.push_async_callback(runner.cleanup)
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    return f"http://127.0.0.1:{runner.addresses[0][1]}"


async def _completed(request: Any) -> Any:
    web: Any = import_module("aiohttp.web")
    body = await request.json()
    message = await _ASKED[request.match_info["number"]]({"messages": body["messages"], "tools": body.get("tools", [])})
    message = {"role": "assistant", "content": None, **message}
    why = "tool_calls" if message.get("tool_calls") else "stop"
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    head = {"id": "gem", "created": 0, "model": "gem"}
    if not body.get("stream"):
        choice = {"index": 0, "finish_reason": why, "message": message}
        return web.json_response({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
    calls = [{"index": place, **call} for place, call in enumerate(message.get("tool_calls") or [])]
    delta = {"role": "assistant", "content": message["content"], **({"tool_calls": calls} if calls else {})}
    parts = [
        {**head, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**head, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": why}]},
        {**head, "object": "chat.completion.chunk", "choices": [], "usage": usage},
    ]
    text = "".join(f"data: {json.dumps(part)}\n\n" for part in parts)
    return web.Response(text=text + "data: [DONE]\n\n", content_type="text/event-stream")
