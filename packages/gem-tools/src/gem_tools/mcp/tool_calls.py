"""Tool calls on a session with a server: rounds of questions, tasks, and the check of structured output.

The SDK's ``call_tool`` does most of this. It has no tasks, though, and it checks structured output in the event loop,
where the pattern of a hostile schema would stop all sessions for ever. This module is imported with the SDK.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import anyio
import mcp_types
from mcp import MCPError
from mcp.client import Client
from mcp.client.session import ClientRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import RootModel

from gem_tools.mcp.errors import MCPServerError
from gem_tools.mcp.pending import PendingRequest
from gem_tools.mcp.schema_check import is_cheap, mismatch

__all__ = ["TASKS", "call_tool", "check_output"]

TASKS = "io.modelcontextprotocol/tasks"
"""The extension of the protocol of 2026-07-28 by tasks (SEP-2663). In that of 2025-11-25 they are a part of it."""

_ROUND_SECONDS = 0.25
"""The pause before a request is sent again to a server that has only asked to wait."""

_POLL_SECONDS = (0.1, 1.0, 10.0)
"""The shortest, the usual and the longest pause between two questions about the state of a task."""

_CANCEL_SECONDS = 2.0
"""The time limit for telling a server that its task is not needed any more."""


class _Any(RootModel[dict[str, Any]]):
    """A result as it came."""


class _TaskParams(mcp_types.RequestParams):
    task_id: str


class _UpdateParams(_TaskParams):
    input_responses: mcp_types.InputResponses


class _GetTask(mcp_types.Request[_TaskParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    name_param = "taskId"


class _UpdateTask(mcp_types.Request[_UpdateParams, Literal["tasks/update"]]):
    method: Literal["tasks/update"] = "tasks/update"
    name_param = "taskId"


class _CancelTask(mcp_types.Request[_TaskParams, Literal["tasks/cancel"]]):
    method: Literal["tasks/cancel"] = "tasks/cancel"
    name_param = "taskId"


class _TaskResult(mcp_types.Request[_TaskParams, Literal["tasks/result"]]):
    method: Literal["tasks/result"] = "tasks/result"
    name_param = "taskId"


class _TaskState(mcp_types.Result):
    """A task of either protocol."""

    task_id: str
    status: mcp_types.TaskStatus
    status_message: str | None = None
    poll_interval: float | None = None
    """Milliseconds, in the protocol of 2025-11-25."""
    poll_interval_ms: float | None = None
    input_requests: mcp_types.InputRequests | None = None
    result: mcp_types.CallToolResult | None = None
    error: mcp_types.ErrorData | None = None


async def call_tool(
    client: Client, tool: mcp_types.Tool | None, name: str, arguments: Mapping[str, Any], pending: PendingRequest
) -> mcp_types.CallToolResult:
    """Call a tool, as a task where its server wants that.

    Args:
        client: the session.
        tool: the tool as the server lists it; None if it does not.
        name: the name of the tool.
        arguments: its arguments.
        pending: the request, in whose scope this runs.

    Raises:
        MCPError: if the server refuses.
        MCPServerError: if the task of the call has no result.
        pydantic.ValidationError: if it is none of the protocol.
    """
    execution = None if tool is None else tool.execution
    is_task = execution is not None and execution.task_support == "required"
    if is_task and client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return await _call_as_task(client, name, arguments, pending)
    return await _call(client, name, arguments, pending)


async def check_output(tool: mcp_types.Tool | None, result: mcp_types.CallToolResult) -> None:
    """Check the structured content of a result against the tool's output schema.

    Raises:
        MCPServerError: if it does not fit, or is missing.
    """
    schema = None if tool is None else tool.output_schema
    if tool is None or schema is None or result.is_error:
        return
    value = result.structured_content
    if value is None and "structured_content" not in result.model_fields_set:
        raise MCPServerError(f"{tool.name} has an output schema, but its result has no structured content")
    if is_cheap(schema, value):
        wrong = mismatch(schema, value)
    else:
        wrong = await anyio.to_thread.run_sync(mismatch, schema, value, abandon_on_cancel=True)
    if wrong is not None:
        raise MCPServerError(f"the structured content of {tool.name} does not fit its output schema: {wrong}")


async def _call(
    client: Client, name: str, arguments: Mapping[str, Any], pending: PendingRequest
) -> mcp_types.CallToolResult:
    """Call a tool; answer the questions that a server asks in place of a result, and wait for its task."""
    responses: mcp_types.InputResponses | None = None
    state: str | None = None
    while True:
        parameters = mcp_types.CallToolRequestParams(
            name=name, arguments=dict(arguments), input_responses=responses, request_state=state
        )
        answer = await _sent(client, mcp_types.CallToolRequest(params=parameters), pending)
        kind = answer.get("resultType")
        if kind == "task":
            created = _TaskState.model_validate(answer, by_name=False)
            return await _finished_task(client, created, pending)
        if kind != "input_required":
            return mcp_types.CallToolResult.model_validate(answer, by_name=False)
        wanted = mcp_types.InputRequiredResult.model_validate(answer, by_name=False)
        state = wanted.request_state
        responses = await _answers(client, wanted.input_requests or {})
        if not responses:
            await anyio.sleep(_ROUND_SECONDS)


async def _sent(client: Client, request: mcp_types.CallToolRequest, pending: PendingRequest) -> dict[str, Any]:
    """Send a call; list the tools and send it again if the server says that their schemas have changed."""
    try:
        return (await client.session.send_request(request, _Any, progress_callback=pending.report)).root
    except MCPError as error:
        if error.code != mcp_types.HEADER_MISMATCH:
            raise
    await client.list_tools()
    return (await client.session.send_request(request, _Any, progress_callback=pending.report)).root


async def _answers(client: Client, requests: Mapping[str, mcp_types.InputRequest]) -> mcp_types.InputResponses:
    """Answer a server's requests, as the session answers those that come by themselves."""
    responses: mcp_types.InputResponses = {}
    for key, request in requests.items():
        meta = request.params.meta if request.params else None
        context = ClientRequestContext(session=client.session, request_id=key, meta=meta)
        response = await client.session.dispatch_input_request(context, request)
        if isinstance(response, mcp_types.ErrorData):
            raise MCPError.from_error_data(response)
        responses[key] = response
    return responses


async def _finished_task(client: Client, task: _TaskState, pending: PendingRequest) -> mcp_types.CallToolResult:
    """Wait for a task of the extension."""
    answered: set[str] = set()
    try:
        while True:
            pending.state(task.status_message)
            if task.status == "completed" and task.result is not None:
                return task.result
            if task.status == "failed" and task.error is not None:
                raise MCPError.from_error_data(task.error)
            if task.status in ("completed", "failed"):
                raise MCPServerError(f"its task has {task.status}, and says no more")
            if task.status == "cancelled":
                raise MCPServerError(f"its task was cancelled{_why(task)}")
            new = {key: asked for key, asked in (task.input_requests or {}).items() if key not in answered}
            if task.status == "input_required" and new:
                responses = await _answers(client, new)
                answered.update(new)
                update = _UpdateParams(task_id=task.task_id, input_responses=responses)
                await client.session.send_request(_UpdateTask(params=update), _Any)
            await anyio.sleep(_pause(task, pending))
            task = await client.session.send_request(_GetTask(params=_TaskParams(task_id=task.task_id)), _TaskState)
    except anyio.get_cancelled_exc_class():
        await _cancel(client, task)
        raise


async def _call_as_task(
    client: Client, name: str, arguments: Mapping[str, Any], pending: PendingRequest
) -> mcp_types.CallToolResult:
    """Call a tool as a task of the protocol of 2025-11-25, and wait for it."""
    parameters = {"name": name, "arguments": dict(arguments), "task": {"ttl": int(1000 * pending.limits.total)}}
    # The public method refuses the result of that version's tasks, which the SDK has as types alone.
    answer = await client.session._dispatcher.send_raw_request(
        "tools/call",
        parameters,
        {"headers": {"mcp-protocol-version": client.protocol_version}, "on_progress": pending.report},
    )
    if not isinstance(answer.get("task"), dict):
        return mcp_types.CallToolResult.model_validate(answer, by_name=False)  # it was faster than a task
    task = _TaskState.model_validate(answer["task"], by_name=False)
    wanted = _TaskParams(task_id=task.task_id)
    try:
        while task.status == "working":
            pending.state(task.status_message)
            await anyio.sleep(_pause(task, pending))
            task = await client.session.send_request(_GetTask(params=wanted), _TaskState)
        pending.state(task.status_message)
        if task.status == "cancelled":
            raise MCPServerError(f"its task was cancelled{_why(task)}")
        # In state input_required, the server asks while it answers this, and then goes on with its work.
        pending.await_end()
        return await client.session.send_request(_TaskResult(params=wanted), mcp_types.CallToolResult)
    except anyio.get_cancelled_exc_class():
        await _cancel(client, task)
        raise


def _pause(task: _TaskState, pending: PendingRequest) -> float:
    """Return the seconds until the next question about a task: what its server wishes, within bounds."""
    shortest, usual, longest = _POLL_SECONDS
    wish = task.poll_interval_ms if task.poll_interval is None else task.poll_interval
    seconds = usual if wish is None else wish / 1000
    return min(max(seconds, shortest), longest, pending.limits.silence / 2)


async def _cancel(client: Client, task: _TaskState) -> None:
    """Tell a server that its task is not needed any more, whether or not it listens."""
    with anyio.move_on_after(_CANCEL_SECONDS, shield=True):
        try:
            await client.session.send_request(_CancelTask(params=_TaskParams(task_id=task.task_id)), _Any)
        except Exception:  # whatever its answer
            return


def _why(task: _TaskState) -> str:
    return f": {task.status_message[:500]}" if task.status_message else ""
