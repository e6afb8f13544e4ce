"""The HTTP routes: what :data:`ROUTES` lists is what the server answers and what ``/openapi.json`` describes."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from gem.errors import ArgumentError, ArgumentTypeError, GemError, NotSupportedError, UnknownEnvironmentError
from gem_server.access import TICKET_SECONDS, AccessControl
from gem_server.connection import HttpAnswer, PlainRequest
from gem_server.env_session import EnvSession
from gem_server.errors import CapacityError, SequenceError, UnknownSessionError, WorkerLostError
from gem_server.operations import GET_STATE, REFUSED, RESET, SAMPLE, SET_STATE, STEP
from gem_server.session_table import SessionTable
from gem_server.wire_errors import error_of

__all__ = ["ROUTES", "HttpRoute", "HttpService"]


@dataclass(frozen=True)
class HttpRoute:
    """One path and method; path and description of the OpenAPI document come from it."""

    method: str
    path: str
    """With parameters in braces: ``/v1/sessions/{session}``."""
    handler: str
    """The method of :class:`HttpService`."""
    summary: str
    answer: str
    """The schema of its answer, by name; ``text`` for none."""
    status: int = 200
    body: str | None = None
    """The schema of its body, by name."""
    needs_token: bool = True

    def match(self, path: str) -> Mapping[str, str] | None:
        """Return the parameters of a path; None if it is another one."""
        pattern = re.sub(r"\\{(\w+)\\}", lambda found: f"(?P<{found[1]}>[^/]+)", re.escape(self.path))
        found = re.fullmatch(pattern, path)
        return None if found is None else {name: unquote(value) for name, value in found.groupdict().items()}


ROUTES = (
    HttpRoute("GET", "/health", "health", "Whether the process lives.", "Health", needs_token=False),
    HttpRoute("GET", "/ready", "ready", "Whether new sessions are welcome; 503 if not.", "Health", needs_token=False),
    HttpRoute("GET", "/metrics", "metrics", "Counters for Prometheus.", "text"),
    HttpRoute("GET", "/openapi.json", "openapi", "This document.", "Object", needs_token=False),
    HttpRoute("POST", "/v1/ticket", "ticket", "A ticket that stands for the token once, for browsers.", "Ticket"),
    HttpRoute("GET", "/v1/environments", "environments", "The served environments.", "Environments"),
    HttpRoute("POST", "/v1/sessions", "open", "Open a session.", "Opened", 201, "Open"),
    HttpRoute("GET", "/v1/sessions/{session}", "session", "A session and its last step id.", "SessionInfo"),
    HttpRoute("DELETE", "/v1/sessions/{session}", "close", "Close a session.", "Closed"),
    HttpRoute("POST", "/v1/sessions/{session}/reset", "reset", "Begin an episode.", "Turn", body="Reset"),
    HttpRoute("POST", "/v1/sessions/{session}/step", "step", "Play one turn.", "Turn", body="Step"),
    HttpRoute("POST", "/v1/sessions/{session}/sample", "sample", "A random well-formed action.", "Sampled"),
    HttpRoute("GET", "/v1/sessions/{session}/state", "state", "The state of the environment.", "State"),
    HttpRoute("PUT", "/v1/sessions/{session}/state", "set_state", "Continue from a state.", "Closed", body="State"),
)

_STATUS = {
    UnknownSessionError: 404,
    UnknownEnvironmentError: 404,
    CapacityError: 503,
    WorkerLostError: 503,
    SequenceError: 409,
    NotSupportedError: 403,
    ArgumentError: 422,
    ArgumentTypeError: 422,
}
_FIELDS = {
    "Open": {"env", "seed", "autoreset", "arguments", "wrappers", "step_timeout"},
    "Reset": {"seed", "options", "step_id"},
    "Step": {"action", "step_id"},
    "State": {"state"},
}


class HttpService:
    """Answers requests, one method a route.

    Args:
        table: the sessions.
        access: tokens.
        about: what the server knows and this class does not: readiness, metrics, the OpenAPI document.
    """

    def __init__(self, table: SessionTable, access: AccessControl, about: AboutServer) -> None:
        self._table = table
        self._access = access
        self._about = about

    async def answer(
        self, route: HttpRoute, parameters: Mapping[str, str], request: PlainRequest, owner: str
    ) -> HttpAnswer:
        """Return the answer to a request that may be made; it raises nothing that a client could cause."""
        handler: Callable[..., Awaitable[HttpAnswer]] = getattr(self, f"_{route.handler}")
        try:
            given = _body(request, _FIELDS[route.body]) if route.body is not None else {}
            if "session" in parameters:
                return await handler(self._table.get(parameters["session"], owner), given)
            return await handler(owner, given)
        except (GemError, TypeError, ValueError) as error:
            return refused(error)

    async def _health(self, _owner: str, _given: Mapping[str, Any]) -> HttpAnswer:
        return HttpAnswer.of({"status": "ok"})

    async def _ready(self, _owner: str, _given: Mapping[str, Any]) -> HttpAnswer:
        why = self._about.not_ready()
        return HttpAnswer.of({"status": why or "ok"}, 503 if why else 200)

    async def _metrics(self, _owner: str, _given: Mapping[str, Any]) -> HttpAnswer:
        return HttpAnswer(200, self._about.metrics_text().encode(), self._about.metrics_type)

    async def _openapi(self, _owner: str, _given: Mapping[str, Any]) -> HttpAnswer:
        return HttpAnswer.of(self._about.openapi())

    async def _ticket(self, owner: str, _given: Mapping[str, Any]) -> HttpAnswer:
        return HttpAnswer.of({"ticket": self._access.ticket(owner), "seconds": TICKET_SECONDS})

    async def _environments(self, _owner: str, _given: Mapping[str, Any]) -> HttpAnswer:
        return HttpAnswer.of({"environments": [_described(spec.to_dict()) for spec in self._table.specs.values()]})

    async def _open(self, owner: str, given: Mapping[str, Any]) -> HttpAnswer:
        asked = dict(given)
        session = await self._table.open(asked.pop("env", ""), owner=owner, **asked)
        return HttpAnswer.of(
            {"session": session.name, "env": session.env_id, "follows_order": session.follows_order}, 201
        )

    async def _session(self, session: EnvSession, _given: Mapping[str, Any]) -> HttpAnswer:
        return HttpAnswer.of(
            {"env": session.env_id, "step_id": session.sequence, "busy": session.busy, "steps": session.steps}
        )

    async def _close(self, session: EnvSession, _given: Mapping[str, Any]) -> HttpAnswer:
        await session.close()
        return HttpAnswer.of({"ok": True})

    async def _reset(self, session: EnvSession, given: Mapping[str, Any]) -> HttpAnswer:
        arguments: dict[str, Any] = {"seed": given.get("seed")}
        if given.get("options") is not None:
            arguments["options"] = given["options"]
        return await _turn(session, RESET, arguments, given)

    async def _step(self, session: EnvSession, given: Mapping[str, Any]) -> HttpAnswer:
        if "action" not in given:
            raise ArgumentError("step needs an action")
        return await _turn(session, STEP, given["action"], given)

    async def _sample(self, session: EnvSession, _given: Mapping[str, Any]) -> HttpAnswer:
        return HttpAnswer.of({"action": await session.call(SAMPLE)})

    async def _state(self, session: EnvSession, _given: Mapping[str, Any]) -> HttpAnswer:
        return HttpAnswer.of({"state": await session.call(GET_STATE)})

    async def _set_state(self, session: EnvSession, given: Mapping[str, Any]) -> HttpAnswer:
        await session.call(SET_STATE, given.get("state"))
        return HttpAnswer.of({"ok": True})


class AboutServer:
    """What a route reports about the server as a whole; :class:`gem_server.server.EnvironmentServer` fills it."""

    metrics_type = "text/plain"

    def not_ready(self) -> str:
        """Return why new sessions are not welcome; empty if they are."""
        raise NotImplementedError

    def metrics_text(self) -> str:
        """Return the counters."""
        raise NotImplementedError

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        raise NotImplementedError


async def _turn(session: EnvSession, operation: int, argument: Any, given: Mapping[str, Any]) -> HttpAnswer:
    sequence = given.get("step_id")
    if sequence is not None and (type(sequence) is not int or sequence < 1):
        raise ArgumentError(f"a step id is a number from 1, got {sequence!r:.40}")
    kind, text = await session.call_encoded(operation, argument, sequence)
    values = json.loads(b"[" + text)
    if kind == REFUSED:
        return refused(error_of(values[1], values[2]))
    names = ("observation", "reward", "terminated", "truncated", "info")
    return HttpAnswer.of(
        {**dict(zip(names, values, strict=True)), "step_id": session.sequence if sequence is None else sequence}
    )


def _body(request: PlainRequest, known: set[str]) -> dict[str, Any]:
    if not request.body:
        return {}
    try:
        given = json.loads(request.body)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"the body is not JSON: {error}") from error
    if not isinstance(given, dict):
        raise ArgumentTypeError("the body must be a JSON object")
    unknown = sorted(given.keys() - known)
    if unknown:
        raise ArgumentError(f"{unknown[0]!r:.60} is not known here; there are {', '.join(sorted(known))}")
    return given


_DESCRIBED = ("id", "description", "tags", "turns", "modality", "reward_range", "distribution", "version", "requires")


def _described(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: record[name] for name in _DESCRIBED}


def refused(error: Exception) -> HttpAnswer:
    """Return an error as an answer."""
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 400)
    return HttpAnswer.of({"error": {"kind": type(error).__name__, "message": str(error)}}, status)
