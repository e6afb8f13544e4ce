"""Trajectories in the Agent Trajectory Interchange Format: :func:`atif_document`.

The format (ATIF) is Harbor's, RFC 0001: https://www.harborframework.com/docs/agents/trajectory-format. A document is a
JSON object with the ``steps`` of an episode. What was said before the agent acted is a step of ``system`` or ``user``;
each turn is a step of ``agent``, with its calls and what they returned.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from itertools import accumulate
from typing import Any

from gem import __version__
from gem.errors import ArgumentError
from gem.text import action_text
from gem_rollout.trajectory import Trajectory, Transition

__all__ = ["ATIF_VERSION", "atif_document"]

ATIF_VERSION = "ATIF-v1.7"

_USAGE = ("prompt_tokens", "completion_tokens", "cached_tokens")


def atif_document(
    trajectory: Trajectory, *, tools: Sequence[Mapping[str, Any]] | None = None, agent_version: str | None = None
) -> dict[str, Any]:
    """Return an episode as a document of ATIF, which ``json.dumps`` takes.

    Rewards and flags are in ``extra`` of the steps, the return and the outcome in ``extra`` of the ``final_metrics``,
    the environment's spec, the seed and a failure in ``extra`` of the document. Pictures become a note in their place,
    since the format refers to files.

    Args:
        trajectory: an episode of one agent.
        tools: the definitions of the tools that the agent had, as chat APIs take them.
        agent_version: of what acted; None for the version of GEM.

    Raises:
        ArgumentError: if several agents acted; pass ``trajectory.for_agent(name)`` instead.
    """
    if trajectory.agents and len({turn.agent for turn in trajectory.transitions}) > 1:
        raise ArgumentError(f"an ATIF document has one agent, and here {trajectory.agents} acted; use for_agent(name)")
    turns = trajectory.transitions
    observations = [turn.observation for turn in turns] + [trajectory.final_observation]
    model = next((turn.model for turn in turns if turn.model), None)
    agent: dict[str, Any] = {"name": trajectory.agent or "agent", "version": agent_version or __version__}
    if model is not None:
        agent["model_name"] = model
    if tools:
        agent["tool_definitions"] = [dict(tool) for tool in tools]
    steps = _opening(observations[0])
    ends = accumulate((turn.act_seconds or 0.0) + (turn.step_seconds or 0.0) for turn in turns)
    for turn, after, end in zip(turns, observations[1:], ends, strict=True):
        step = _step(turn, after, model)
        if trajectory.started_at is not None:
            step["timestamp"] = _time(trajectory.started_at + end - (turn.step_seconds or 0.0))
        steps.append(step)
    if trajectory.started_at is not None:
        steps[0].setdefault("timestamp", _time(trajectory.started_at))
    for number, step in enumerate(steps, start=1):
        step["step_id"] = number
    key = trajectory.key
    return {
        "schema_version": ATIF_VERSION,
        "session_id": f"{key.env}/{key.seed}/{key.repetition}",
        "agent": agent,
        "steps": steps,
        "final_metrics": _final_metrics(trajectory, len(steps)),
        "extra": _extra(trajectory),
    }


def _opening(observation: Any) -> list[dict[str, Any]]:
    """Return the steps before the first turn."""
    if isinstance(observation, list) and observation and all(_is_message(item) for item in observation):
        return [
            {
                "source": item["role"] if item["role"] in ("system", "user") else "user",
                "message": _text(item.get("content")),
            }
            for item in observation
        ]
    return [{"source": "user", "message": _text(observation)}]


def _step(turn: Transition, after: Any, model: str | None) -> dict[str, Any]:
    step: dict[str, Any] = {"source": "agent", "message": action_text(turn.action) or ""}
    if turn.reasoning:
        step["reasoning_content"] = turn.reasoning
    if turn.model and turn.model != model:
        step["model_name"] = turn.model
    calls = _calls(turn.action)
    if calls:
        step["tool_calls"] = calls
    step["observation"] = {"results": _results(turn, calls, after)}
    metrics: dict[str, Any] = {name: turn.usage[name] for name in _USAGE if turn.usage and name in turn.usage}
    exact = {
        "prompt_token_ids": turn.prompt_token_ids,
        "completion_token_ids": turn.token_ids,
        "logprobs": turn.logprobs if _all_numbers(turn.logprobs) else None,
    }
    metrics |= {name: list(value) for name, value in exact.items() if value is not None}
    if metrics:
        step["metrics"] = metrics
    extra: dict[str, Any] = {"reward": turn.reward, "terminated": turn.terminated, "truncated": turn.truncated}
    if turn.info:
        extra["info"] = turn.info
    if turn.finish_reason is not None:
        extra["finish_reason"] = turn.finish_reason
    return {**step, "extra": extra}


def _calls(action: Any) -> list[dict[str, Any]]:
    """Return the native calls of a message; the ids are unique within it, as the format asks."""
    calls: list[dict[str, Any]] = []
    asked = action.get("tool_calls") if isinstance(action, Mapping) else None
    for number, call in enumerate(asked if isinstance(asked, list) else [], start=1):
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping):
            continue
        name, arguments, extra = str(function.get("name")), function.get("arguments"), None
        if isinstance(arguments, str):
            try:
                parsed = json.loads(arguments)
            except ValueError:
                parsed = None
            if not isinstance(parsed, dict):
                extra = {"malformed_arguments": arguments}
            arguments = parsed
        known = {each["tool_call_id"] for each in calls}
        identity = call.get("id")
        if not isinstance(identity, str) or identity in known:
            identity = f"call_{number}" if f"call_{number}" not in known else f"call_{number}_{len(known)}"
        entry: dict[str, Any] = {
            "tool_call_id": identity,
            "function_name": name,
            "arguments": dict(arguments) if isinstance(arguments, Mapping) else {},
        }
        calls.append(entry if extra is None else {**entry, "extra": extra})
    return calls


def _results(turn: Transition, calls: Sequence[Mapping[str, Any]], after: Any) -> list[dict[str, Any]]:
    known = {call["tool_call_id"] for call in calls}
    found = turn.info.get("tool_results")
    results = [
        {"source_call_id": item["tool_call_id"], "content": _text(item.get("text"))}
        for item in (found if isinstance(found, list) else [])
        if isinstance(item, Mapping) and item.get("tool_call_id") in known
    ]
    return results or [{"content": _text(_last(after))}]


def _last(observation: Any) -> Any:
    """Return what the last turn added: all messages after the agent's last one, where a wrapper shows them all."""
    if not (isinstance(observation, list) and observation and all(_is_message(item) for item in observation)):
        return observation
    after = len(observation)
    while after and observation[after - 1].get("role") != "assistant":
        after -= 1
    return "\n\n".join(_text(item.get("content")) for item in observation[after:])


def _is_message(item: Any) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("role"), str)


def _text(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(part, Mapping) and "type" in part for part in content):
        return "\n".join(
            str(part.get("text")) if part["type"] == "text" else f"[{part['type']}, not in this document]"
            for part in content
        )
    return json.dumps(content, ensure_ascii=False)


def _all_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, float) and abs(value) < float("inf") for value in values)


def _final_metrics(trajectory: Trajectory, steps: int) -> dict[str, Any]:
    totals: dict[str, Any] = {}
    for name in _USAGE:
        counts = [turn.usage[name] for turn in trajectory.transitions if turn.usage and name in turn.usage]
        if counts:
            totals[f"total_{name}"] = sum(counts)
    extra = {
        "return": trajectory.episode_return,
        "success": trajectory.success,
        "seconds": trajectory.seconds,
        "stop_reason": trajectory.stop_reason,
    }
    return {
        **totals,
        "total_steps": steps,
        "extra": {name: value for name, value in extra.items() if value is not None},
    }


def _extra(trajectory: Trajectory) -> dict[str, Any]:
    extra: dict[str, Any] = {"seed": trajectory.seed, "repetition": trajectory.repetition}
    if trajectory.spec is not None:
        extra["environment"] = trajectory.spec.to_dict()
    if trajectory.failure is not None:
        failure = trajectory.failure
        extra["failure"] = {"source": failure.source, "kind": failure.kind, "message": failure.message}
    if trajectory.metadata:
        extra["metadata"] = trajectory.metadata
    if trajectory.scores:
        extra["scores"] = trajectory.scores
    return extra


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat()
