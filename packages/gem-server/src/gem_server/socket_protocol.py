"""The WebSocket protocol ``gem.v1``: many sessions on one connection, many calls in one message.

Every message is a JSON array in a text message. The client sends calls::

    [[CHANNEL, STEP_ID, "open", {"session": SECRET, "env": ID, …}],
     [CHANNEL, STEP_ID, "reset", {"seed": 7}],
     [CHANNEL, STEP_ID, "step", ACTION], …]

and the server answers each, in any order and any grouping::

    [[CHANNEL, STEP_ID, OBSERVATION, REWARD, TERMINATED, TRUNCATED, INFO],    step, reset
     [CHANNEL, STEP_ID, VALUE],                                              open, close, get_state, set_state, sample
     [CHANNEL, STEP_ID, "error", KIND, MESSAGE], …]                          anything that was refused

CHANNEL is a number that the client chooses, for this connection. SECRET names the session beyond the connection: any
string of 16 to 64 characters that nobody can guess. ``open`` with ``"resume": true`` attaches to an open session, on
any connection; without it, ``open`` makes the environment, and a second ``open`` of the same name attaches. The value
of ``open`` is ``{"resumed": bool, "step_id": int, "follows_order": bool}``. The further fields of ``open`` are those
of :class:`gem_server.open_request.OpenRequest`.

STEP_ID grows by one with each call but ``open`` and ``close``, from 1. A call with the id of the last one runs nothing
and is answered with the same result; so after a lost connection the client attaches again and repeats what it got no
answer to.

A client that offers the subprotocol ``gem.v1.additions`` gets observations that grow as what was added: a step result
with ``true`` as a further value has, as its OBSERVATION, what follows the observation of the last step or reset that
was answered on this channel of this connection.
"""

from __future__ import annotations

import json
from typing import Any

from gem.errors import ArgumentError, ArgumentTypeError, GemError
from gem_server.connection import ClientConnection
from gem_server.env_session import EnvSession
from gem_server.errors import SequenceError, UnknownSessionError
from gem_server.open_request import OpenRequest
from gem_server.operations import MAKE, NAMES, REFUSED
from gem_server.session_table import SessionTable
from gem_server.text_additions import WITH_ADDITIONS, TextAdditions
from gem_server.wire_errors import refused_text

__all__ = ["SessionSocket"]


_decode = json.JSONDecoder().decode
_SECRET = range(16, 65)
_OPEN_FIELDS = {"env", "seed", "autoreset", "arguments", "wrappers", "step_timeout", "lost", "account"}
_LARGEST_CHANNEL = 1 << 31


class SessionSocket:
    """One connection that speaks ``gem.v1``. Answers of one turn of the event loop leave in one message."""

    def __init__(self, table: SessionTable, owner: str, subprotocol: str | None) -> None:
        self.subprotocol = subprotocol
        self._table = table
        self._owner = owner
        self._connection: ClientConnection | None = None
        self._channels: dict[int, EnvSession] = {}
        self._channel_of: dict[int, int] = {}  # key of the session → channel
        self._answers: list[bytes] = []
        self._additions = TextAdditions() if subprotocol == WITH_ADDITIONS else None

    def opened(self, connection: ClientConnection) -> None:
        self._connection = connection

    def closed(self) -> None:
        self._connection = None
        for session in self._channels.values():
            if session.connection is self:
                session.connection, session.orphaned = None, True

    def received(self, text: bytes) -> None:
        try:
            calls = _decode(text.decode())
            if type(calls) is not list:
                raise ArgumentTypeError("a message must be a JSON array of calls")
            if len(calls) > self._table.settings.max_batch:
                raise ArgumentError(f"a message may hold {self._table.settings.max_batch} calls")
        except (ValueError, RecursionError, ArgumentTypeError) as error:
            self._bad_message(str(error))
            return
        channels, take = self._channels, self._take
        for call in calls:
            try:
                channel, sequence, name, *rest = call
                operation = NAMES.get(name)
                session = channels.get(channel)
            except (TypeError, ValueError):
                self._bad_message("a call must be an array: channel, step id, name, argument")
                return
            if session is not None and operation is not None and type(sequence) is int and sequence > 0:
                session.submit(sequence, operation, rest[0] if rest else None, take)
            else:
                self._other(channel, sequence, name, rest)

    def _bad_message(self, why: str) -> None:
        self._table.metrics.bad_messages += 1
        if self._connection is not None:
            self._connection.close(1003, why[:100])

    def _other(self, channel: Any, sequence: Any, name: Any, rest: list[Any]) -> None:
        if type(channel) is not int or not 0 <= channel < _LARGEST_CHANNEL or type(sequence) is not int or sequence < 0:
            self._bad_message("a channel is a number from 0, a step id one from 1")
            return
        try:
            if name == "open":
                self._open(channel, sequence, rest[0] if rest else None)
            elif channel not in self._channels:
                raise UnknownSessionError(f"no session is open on channel {channel}")
            elif name == "close":
                session = self._channels[channel]
                self.detach(session)
                self._table.drop(session)
                self._answer(channel, sequence, b"true]")
            elif name in NAMES:
                raise SequenceError("step ids begin with 1; opening the session was 0")
            else:
                raise ArgumentError(f"no call is named {name!r:.40}; there are open, close, {', '.join(NAMES)}")
        except (GemError, TypeError, ValueError) as error:
            self._answer(channel, sequence, refused_text(error))

    def _open(self, channel: int, sequence: int, asked: Any) -> None:
        if not isinstance(asked, dict) or not isinstance(asked.get("session"), str):
            raise ArgumentTypeError("open takes an object with session, env, …")
        name = asked["session"]
        if len(name) not in _SECRET or not name.isascii():
            raise ArgumentError("the name of a session is 16 to 64 ASCII characters that nobody can guess")
        unknown = sorted(asked.keys() - _OPEN_FIELDS - {"session", "resume"})
        if unknown:
            raise ArgumentError(f"open does not know {unknown[0]!r:.40}; it takes {', '.join(sorted(_OPEN_FIELDS))}")
        try:
            session = self._table.get(name, self._owner)
        except UnknownSessionError:
            if asked.get("resume"):
                raise
            fields = {key: value for key, value in asked.items() if key in _OPEN_FIELDS - {"env"}}
            request = OpenRequest(asked.get("env", ""), **fields)
            session = self._table.open_now(request, self._owner, name)
            self._attach(channel, session)
            session.submit(0, MAKE, None, self._made)
        else:
            self._attach(channel, session)
            if session.sequence == 0 and session.busy:
                session.submit(0, MAKE, None, self._made)
            else:
                self._made(session, sequence, 0, b"", resumed=True)

    def _attach(self, channel: int, session: EnvSession) -> None:
        old = self._left(channel)
        if old is not None and old is not session:
            self._channel_of.pop(old.key, None)
            old.connection, old.orphaned = None, True
        previous = self._channel_of.get(session.key)
        if previous is not None:
            self._left(previous)
        if isinstance(session.connection, SessionSocket) and session.connection is not self:
            session.connection.detach(session)
        session.connection, session.orphaned = self, False
        self._channels[channel], self._channel_of[session.key] = session, channel

    def detach(self, session: EnvSession) -> None:
        """Forget a session that another connection has taken over."""
        channel = self._channel_of.pop(session.key, None)
        if channel is not None:
            self._left(channel)

    def _left(self, channel: int) -> EnvSession | None:
        """Return the session that a channel had; it has none now."""
        if self._additions is not None:
            self._additions.forget(channel)
        return self._channels.pop(channel, None)

    def _made(self, session: EnvSession, sequence: int, kind: int, text: bytes, resumed: bool = False) -> None:
        if kind != REFUSED:
            value = {"resumed": resumed, "step_id": session.sequence, "follows_order": session.follows_order}
            text = json.dumps([value])[1:].encode()
        self._take(session, sequence, kind, text)
        if kind == REFUSED:
            self.detach(session)

    def _take(self, session: EnvSession, sequence: int, kind: int, text: bytes) -> None:
        channel = self._channel_of.get(session.key)
        if channel is not None:
            if self._additions is not None and kind != REFUSED:
                text = self._additions.shorten(channel, text)
            self._answer(channel, sequence, text)

    def _answer(self, channel: int, sequence: int, text: bytes) -> None:
        if not self._answers:
            self._table.at_end_of_turn(self._flush)
        self._answers.append(b"[%d,%d,%b" % (channel, sequence, text))

    def _flush(self) -> None:
        answers, self._answers = self._answers, []
        if self._connection is not None:
            self._connection.send_text(b"[%b]" % b",".join(answers))
