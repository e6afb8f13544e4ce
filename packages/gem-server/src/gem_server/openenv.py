"""OpenEnv's protocol on our server: its client plays our environments at ``http://HOST:PORT/openenv/ID``.

The protocol is that of openenv 0.10 (``openenv.core.env_server``): a WebSocket at ``…/ws``, JSON texts of ``type`` and
``data``, one environment a connection, one answer to each message in their order. A server of a single environment
offers it at ``http://HOST:PORT`` as well, as OpenEnv's own servers do.

An action is ``{"action": TEXT}``, or an assistant message in place of the text. An observation is ``{"text": …}``, or
``{"content": [parts]}`` with pictures. ``done`` is either end; ``metadata`` has ``terminated``, ``truncated`` and
``info``. A reset with ``split`` and ``index`` plays a task of :mod:`gem_server.openenv_tasks`. Other fields beside
``seed`` and ``episode_id`` are options of the environment, which refuses those that it does not know; OpenEnv's own
servers drop them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from uuid import uuid4

from gem.errors import GemError, ResetNeededError
from gem_server.connection import ClientConnection, HttpAnswer, PlainRequest
from gem_server.env_session import EnvSession
from gem_server.errors import CapacityError
from gem_server.openenv_tasks import TASK_ROUTES, seed_of_task, task_answer
from gem_server.session_table import SessionTable

if TYPE_CHECKING:
    from gem_server.server import EnvironmentServer

__all__ = ["OpenEnvSocket", "add_openenv"]

_PREFIX = "/openenv"
_MOST_WAITING = 16  # messages of one connection; the client of OpenEnv sends the next one after the answer

_ACTION = {
    "type": "object",
    "title": "Action",
    "properties": {
        "action": {
            "type": "string",
            "description": "The agent's answer as text; an assistant message (an object) is accepted too.",
        },
        "metadata": {"type": "object"},
    },
    "required": ["action"],
    "additionalProperties": False,
}
_OBSERVATION = {
    "type": "object",
    "title": "Observation",
    "properties": {
        "text": {"type": "string"},
        "content": {
            "type": "array",
            "items": {"type": "object"},
            "description": "Texts and pictures, as in chat APIs.",
        },
        "metadata": {"type": "object"},
    },
}
_STATE = {
    "type": "object",
    "title": "State",
    "properties": {"episode_id": {"type": "string"}, "step_count": {"type": "integer"}},
}


class _RefusedMessageError(Exception):
    """A message that is answered with an error of the protocol."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class OpenEnvSocket:
    """One connection of an OpenEnv client, which is one session.

    Args:
        table: the sessions of the server.
        owner: as its token names it.
        env_id: the environment.
    """

    subprotocol: str | None = None

    def __init__(self, table: SessionTable, owner: str, env_id: str) -> None:
        self._table = table
        self._owner = owner
        self._env_id = env_id
        self._connection: ClientConnection | None = None
        self._waiting: asyncio.Queue[bytes] = asyncio.Queue(_MOST_WAITING)
        self._task: asyncio.Task[None] | None = None
        self._session: EnvSession | None = None
        self._episode_id, self._steps = "", 0

    def opened(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._task = asyncio.get_running_loop().create_task(self._serve())

    def received(self, text: bytes) -> None:
        try:
            self._waiting.put_nowait(text)
        except asyncio.QueueFull:
            if self._connection is not None:
                self._connection.close(1008, "wait for the answers to your messages")

    def closed(self) -> None:
        self._connection = None
        if self._task is not None:
            self._task.cancel()
        self._end_session()

    async def _serve(self) -> None:
        """Open the session, and answer messages one after the other."""
        try:
            session = await self._table.open(self._env_id, owner=self._owner)
        except GemError as error:
            self._send(
                "error", _error("CAPACITY_REACHED" if isinstance(error, CapacityError) else "FACTORY_ERROR", error)
            )
            self._hang_up()
            return
        self._session = session
        if self._connection is None:  # the client left meanwhile
            self._end_session()
        while self._connection is not None:
            text = await self._waiting.get()
            try:
                kind, data = await self._answered(session, text)
            except _RefusedMessageError as error:
                kind, data = "error", _error(error.code, error)
            except GemError as error:
                kind, data = "error", _error("EXECUTION_ERROR", error)
            if kind == "close":
                break
            self._send(kind, data)
        self._end_session()
        self._hang_up()

    async def _answered(self, session: EnvSession, text: bytes) -> tuple[str, dict[str, Any]]:
        try:
            message = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise _RefusedMessageError("INVALID_JSON", f"Invalid JSON: {error}") from None
        kind = message.get("type") if isinstance(message, dict) else None
        data = message.get("data", {}) if isinstance(message, dict) else None
        if kind not in ("reset", "step", "state", "close"):
            raise _RefusedMessageError("UNKNOWN_TYPE", f"Unknown message type: {kind!r:.60}")
        if not isinstance(data, dict) or message.keys() - {"type", "data"}:
            raise _RefusedMessageError(
                "VALIDATION_ERROR", "a message is an object of type and data, and data is an object"
            )
        if kind == "reset":
            return "observation", await self._reset(session, data)
        if kind == "step":
            return "observation", await self._step(session, data)
        return kind, {"episode_id": self._episode_id or None, "step_count": self._steps}

    async def _reset(self, session: EnvSession, data: dict[str, Any]) -> dict[str, Any]:
        options = {name: value for name, value in data.items() if name not in ("seed", "episode_id")}
        seed = data.get("seed")
        episode_id = data.get("episode_id")
        if episode_id is not None and (not isinstance(episode_id, str) or len(episode_id) > 255):
            raise _RefusedMessageError("VALIDATION_ERROR", "episode_id is a text of at most 255 characters")
        try:
            if {"split", "index"} <= options.keys():
                seed = seed_of_task(options.pop("split"), options.pop("index"))
            observation, _, _, truncated, info = await session.reset(seed, options or None)
        except (TypeError, ValueError) as error:  # ArgumentError and ArgumentTypeError are such
            raise _RefusedMessageError("VALIDATION_ERROR", str(error)) from None
        if truncated:
            raise _RefusedMessageError("EXECUTION_ERROR", str(info.get("error", "the environment failed")))
        self._episode_id, self._steps = episode_id or str(uuid4()), 0
        return _observed(observation, None, False, False, info)

    async def _step(self, session: EnvSession, data: dict[str, Any]) -> dict[str, Any]:
        action = data.get("action")
        if not isinstance(action, (str, dict)) or data.keys() - {"action", "metadata"}:
            raise _RefusedMessageError(
                "VALIDATION_ERROR", 'an action is {"action": TEXT}, or an assistant message as its value'
            )
        try:
            observation, reward, terminated, truncated, info = await session.step(action)
        except ResetNeededError as error:
            raise _RefusedMessageError("EXECUTION_ERROR", str(error)) from None
        self._steps += 1
        return _observed(observation, reward, terminated, truncated, info)

    def _send(self, kind: str, data: dict[str, Any]) -> None:
        if self._connection is not None:
            self._connection.send_text(json.dumps({"type": kind, "data": data}).encode())

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close(1000, "")

    def _end_session(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            self._table.drop(session)


def add_openenv(server: EnvironmentServer) -> None:
    """Add the protocol to a server, before it starts."""
    ids = list(server.sessions.specs)
    for env_id in ids:
        server.add_socket(f"{_PREFIX}/{env_id}/ws", _factory(server, env_id))
    if len(ids) == 1:
        server.add_socket("/ws", _factory(server, ids[0]))
        server.add_routes("/schema", _described(server, ids[0]))
        server.add_routes("/metadata", _described(server, ids[0]))
        server.add_routes("/list_environments", _described(server, ids[0]))
        server.add_routes(f"/{ids[0]}", _described(server, ids[0]))
    server.add_routes(_PREFIX, _described(server, None))


def _factory(server: EnvironmentServer, env_id: str) -> Callable[[PlainRequest, str], OpenEnvSocket]:
    return lambda _request, owner: OpenEnvSocket(server.sessions, owner, env_id)


def _described(server: EnvironmentServer, only: str | None) -> Callable[[PlainRequest, str], Any]:
    """Return the handler of the routes by which a client learns about an environment."""

    async def answer(request: PlainRequest, _owner: str) -> HttpAnswer:
        env_id, _, what = unquote(request.path.removeprefix(f"{_PREFIX}/")).rpartition("/")
        if what in TASK_ROUTES:  # the name of the environment comes once more: …/openenv/ID/ID/splits
            named = env_id[: len(env_id) // 2]
            env_id = named if env_id == f"{named}/{named}" else ""
        spec = server.sessions.specs.get(only or env_id)
        if spec is not None and what in TASK_ROUTES and request.method == ("GET" if what == "splits" else "POST"):
            return task_answer(spec.id, what, request)
        if spec is not None and request.method in ("GET", "HEAD"):
            if what == "list_environments":
                return HttpAnswer.of([spec.id])
            if what == "schema":
                return HttpAnswer.of({"action": _ACTION, "observation": _OBSERVATION, "state": _STATE})
            if what == "metadata":
                return HttpAnswer.of({"name": spec.id, "description": spec.description, "version": spec.version})
            if what == "health":
                return HttpAnswer.of({"status": "healthy"})
        message = (
            f"there is nothing at {request.path[:100]}; an environment has {_PREFIX}/ID/ws, /schema, /metadata, "
            f"/health, /list_environments, and its tasks at {_PREFIX}/ID/ID/splits, /num_tasks, /task"
        )
        return HttpAnswer.of({"error": {"kind": "NotFound", "message": message}}, 404)

    return answer


def _observed(observation: Any, reward: float | None, terminated: bool, truncated: bool, info: Any) -> dict[str, Any]:
    shown = {"text": observation} if isinstance(observation, str) else {"content": observation}
    metadata = {"terminated": terminated, "truncated": truncated, "info": info}
    return {
        "observation": {**shown, "metadata": metadata},
        "reward": reward,
        "done": terminated or truncated,
        "metadata": metadata,
    }


def _error(code: str, error: Exception) -> dict[str, Any]:
    return {"message": str(error)[:2000], "code": code}
