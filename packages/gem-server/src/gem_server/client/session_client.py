"""Sessions on one or many servers, seen from a client: :class:`SessionClient`.

It opens the sessions, sends the calls of one moment in one message for each connection, and brings every call to an
end:

* A lost connection is made again; the client attaches to its sessions by their names, and repeats the calls without an
  answer under the same step ids, so that nothing is lost and nothing runs twice.
* A session that its server no longer knows (the server was restarted) is opened again, with the number of its faults,
  so that its seeds go on as after any fault. Its episode is lost: the first step is answered with a truncated episode.
* The sessions of a server that stays away move to another one, or, where there is none, their calls fail.
"""

from __future__ import annotations

import json
import select
import selectors
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from gem_server.client.address import EnvAddress, parse_address
from gem_server.client.client_session import ClientSession
from gem_server.client.link import SocketLink
from gem_server.client.reconnecting_link import FIRST_PAUSE, ReconnectingLink
from gem_server.errors import ServiceUnavailableError
from gem_server.text_additions import RESULT_FIELDS, note_observation
from gem_server.wire_errors import error_of

__all__ = ["SessionClient"]

_encode = json.JSONEncoder(separators=(",", ":"), default=lambda _value: None).encode
_decode = json.JSONDecoder().decode
_BATCH_BYTES = 2 << 20


class SessionClient:
    """Sessions by number. One caller at a time.

    Args:
        connections: connections to each server, among which the sessions are distributed.
        token: bearer token; a mapping from the address of a server (``http://host:port``) to its token.
        reconnect_timeout: seconds to keep trying to reach a server, before its sessions move to another one or fail.
        connect_timeout: seconds of one attempt.
    """

    def __init__(
        self,
        connections: int = 1,
        token: str | Mapping[str, str] | None = None,
        reconnect_timeout: float = 30.0,
        connect_timeout: float = 10.0,
    ) -> None:
        self.arrived: dict[int, Any] = {}
        """Results by number, in the order of arrival: a step result, a value, or an exception."""
        self._per_server = connections
        self._token = token
        self._reconnect_timeout = reconnect_timeout
        self._connect_timeout = connect_timeout
        self._sessions: dict[int, ClientSession] = {}
        self._links: dict[str, list[ReconnectingLink]] = {}
        self._selector = selectors.DefaultSelector()
        self._up: dict[int, ReconnectingLink] = {}  # by descriptor
        self._down: set[ReconnectingLink] = set()  # those with sessions and without a connection
        self._waker, self._woken = socket.socketpair()
        self._waker.setblocking(False)
        self._woken.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ)

    def wait_readable(self) -> bool:
        """Wait until :meth:`collect` may have something to do; any one thread beside the caller's may call this."""
        poller, unsettled = select.poll(), bool(self._down)
        for descriptor in [*self._up, self._woken.fileno()]:
            poller.register(descriptor, select.POLLIN)
        wait = FIRST_PAUSE if unsettled else self._look_every()
        ready = {descriptor for descriptor, _ in poller.poll(None if wait is None else wait * 1000)}
        if ready == {self._woken.fileno()}:  # the connections have changed, or there is nothing more to watch
            self._drain_wake_ups()
            return bool(self._down or self.arrived)
        return bool(ready) or unsettled or any(link.needs_look() for link in list(self._up.values()))

    def wake(self) -> None:
        """End a wait, since the connections have changed."""
        with suppress(OSError):
            self._waker.send(b"!")

    def _drain_wake_ups(self) -> None:
        with suppress(OSError):
            self._woken.recv(4096)

    def add(self, number: int, url: str, fields: Mapping[str, Any]) -> None:
        """Begin to open a session; its result is the empty step result of a made environment.

        Args:
            number: of the session; an earlier session of this number is closed.
            url: address of the environment.
            fields: of :class:`gem_server.open_request.OpenRequest`, without the id.
        """
        address = parse_address(url)
        self.remove(number)
        links = self._links.setdefault(address.server, [])
        if len(links) < self._per_server:
            links.append(self._new_link(address))
            link = links[-1]
        else:
            link = min(links, key=lambda each: len(each.members))
        session = self._sessions[number] = ClientSession(address, dict(fields), link)
        link.members.add(number)
        if link.connection is None:
            self._start(link)
        else:
            self._send(link, [session.opening(number)])

    def remove(self, number: int) -> None:
        """Close a session without waiting."""
        session = self._sessions.pop(number, None)
        if session is None:
            return
        session.link.members.discard(number)
        if session.link.connection is not None and session.phase != "new":
            with suppress(ConnectionError):
                session.link.connection.send(_encode([[number, 0, "close"]]).encode())

    def connect(self, urls: Iterable[str]) -> None:
        """Reach servers now, and raise what a background attempt would only report.

        Raises:
            ServiceUnavailableError, ServiceRefusedError: if one cannot be used.
        """
        for url in dict.fromkeys(urls):
            address = parse_address(url)
            links = self._links.setdefault(address.server, [])
            if not links:
                link = self._new_link(address)
                links.append(link)
                link.connected(link.open())
                self._resume(link)

    def follows_order(self, number: int) -> bool:
        """Return whether the environment of a session goes through an order of its own."""
        return self._sessions[number].follows_order

    def submit(self, numbers: Sequence[int], name: str, arguments: Sequence[Any]) -> None:
        """Begin a call in several sessions; none of them has one under way."""
        batches: dict[ReconnectingLink, list[Any]] = {}
        sessions = self._sessions
        for number, argument in zip(numbers, arguments, strict=True):
            session = sessions[number]
            session.begin(name, argument)
            link = session.link
            if session.phase == "open" and link.connection is not None:
                if link in batches:
                    batches[link].append([number, session.sequence, name, argument])
                else:
                    batches[link] = [[number, session.sequence, name, argument]]
            elif link.connection is not None and session.phase == "new":
                batches.setdefault(link, []).append(session.opening(number))
            elif link.connection is None:
                self._start(link)
        for link, calls in batches.items():
            self._send(link, calls)

    def collect(self, count: int, timeout: float | None) -> None:
        """Wait until ``arrived`` holds ``count`` results or ``timeout`` seconds have passed; take all there are."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            missing = len(self.arrived) < count
            wait = 0.0 if not missing else None if deadline is None else max(0.0, deadline - time.monotonic())
            if self._down:
                self._tend()
                if len(self.arrived) >= count:
                    wait = 0.0
                elif wait is None or wait > FIRST_PAUSE:
                    wait = FIRST_PAUSE
            pause = self._look_every()
            self._read(wait if pause is None else pause if wait is None else min(wait, pause))
            self._look()
            if len(self.arrived) >= count or (deadline is not None and time.monotonic() >= deadline):
                return

    def close(self) -> None:
        """Close all sessions and connections, without waiting."""
        for link in self._all_links():
            if link.connection is not None:
                open_ = [number for number in link.members if self._sessions[number].phase != "new"]
                with suppress(ConnectionError):
                    link.connection.send(_encode([[number, 0, "close"] for number in open_]).encode())
                self._unwatch(link)
            link.close()
        self._links, self._sessions = {}, {}
        self._selector.close()
        self._waker.close()
        self._woken.close()

    # Silence

    def _look_every(self) -> float | None:
        """Return the seconds between two looks for servers that say nothing; None without a connection."""
        return min((link.look_every for link in list(self._up.values())), default=None)

    def _look(self) -> None:
        """Ping servers that are quiet, and give up connections on which no answer came."""
        for link in list(self._up.values()):
            try:
                link.look()
            except ConnectionError as error:
                self._lost(link, str(error))

    # Reading

    def _read(self, wait: float | None) -> None:
        for key, _ in self._selector.select(wait):
            link = self._up.get(key.fd)
            up = None if link is None else link.connection
            if link is None or up is None:
                self._drain_wake_ups()
                continue
            failure = None
            try:
                up.receive()
            except ConnectionError as error:
                failure = error
            self._take_messages(up)
            if failure is not None and link.connection is up:
                self._lost(link, str(failure))

    def _take_messages(self, link: SocketLink) -> None:
        if link.messages:
            messages, link.messages = link.messages, []
            for message in messages:
                self._take(message, link.observations)

    def _take(self, message: bytes, observations: dict[int, Any]) -> None:
        sessions, arrived = self._sessions, self.arrived
        for answer in _decode(message.decode()):
            if len(answer) >= RESULT_FIELDS:
                note_observation(answer, observations)
            number, sequence = answer[0], answer[1]
            session = sessions.get(number)
            if session is None:
                continue
            if session.phase != "open":
                if sequence == 0:
                    self._opened(number, session, answer)
            elif session.call is None or sequence != session.sequence:
                continue  # an answer to a call that was repeated, and came twice
            elif len(answer) == 7:
                arrived[number] = result = (answer[2], answer[3], answer[4], answer[5], answer[6])
                session.end(result)
            elif len(answer) == 5 and answer[2] == "error":
                self._refused(number, session, answer[3], answer[4])
            else:
                session.call = None
                arrived[number] = answer[2]

    def _refused(self, number: int, session: ClientSession, kind: str, message: str) -> None:
        if kind == "UnknownSessionError":
            self._open_again(number, session, f"UnknownSessionError: {message}")
            return
        session.call = None
        self.arrived[number] = error_of(kind, message)

    # Opening

    def _opened(self, number: int, session: ClientSession, answer: list[Any]) -> None:
        call = session.call
        if answer[2] == "error":
            kind, text = answer[3], answer[4]
            if session.phase == "resuming" and kind == "UnknownSessionError":
                self._open_again(number, session, "ServerLostError: the server has lost the session, and its episode")
                return
            session.call = None
            session.start_over(session.lost)
            if call is not None:
                is_open = call[0] == "open"
                self.arrived[number] = error_of(kind, text) if is_open else session.failure(call, f"{kind}: {text}")
            return
        session.phase, session.lost = "open", ""
        session.follows_order = answer[2]["follows_order"]
        if call is None:
            return
        if call[0] == "open":
            session.call = None
            self.arrived[number] = ("", 0.0, False, False, {})
        else:
            self._send(session.link, [[number, session.sequence, *call]])

    def _open_again(self, number: int, session: ClientSession, cause: str) -> None:
        """Open a session in the place of one that is gone, with its episode."""
        session.start_over(cause)
        if session.link.connection is not None:
            self._send(session.link, [session.opening(number)])

    # Connections

    def _new_link(self, address: EnvAddress) -> ReconnectingLink:
        token = self._token.get(address.server) if isinstance(self._token, Mapping) else self._token
        return ReconnectingLink(address, token, self._connect_timeout, self._reconnect_timeout, self.wake)

    def _all_links(self) -> list[ReconnectingLink]:
        return [link for links in self._links.values() for link in links]

    def _send(self, link: ReconnectingLink, calls: list[Any]) -> None:
        up = link.connection
        if up is None:
            self._start(link)
            return
        try:
            text = _encoded(calls)
            if len(text) <= _BATCH_BYTES or len(calls) == 1:
                up.send(text)
                self._take_messages(up)  # they make no descriptor readable any more
            else:
                half = len(calls) // 2
                self._send(link, calls[:half])
                self._send(link, calls[half:])
        except ConnectionError as error:
            if link.connection is up:
                self._lost(link, str(error))

    def _lost(self, link: ReconnectingLink, error: str) -> None:
        self._unwatch(link)
        link.lose(error)
        self._start(link)
        self.wake()

    def _unwatch(self, link: ReconnectingLink) -> None:
        assert link.connection is not None
        self._selector.unregister(link.connection)
        self._up.pop(link.connection.fileno(), None)

    def _start(self, link: ReconnectingLink) -> None:
        self._down.add(link)
        link.start()

    def _tend(self) -> None:
        """Go on with the connections that are missing."""
        for link in list(self._down):
            if not link.members and not link.is_trying:
                self._down.discard(link)
            elif link.settle() is not None:
                self._resume(link)
            else:
                if link.time_is_up():
                    self._give_up(link)
                if link.members:
                    link.start()

    def _resume(self, link: ReconnectingLink) -> None:
        """Watch a new connection, and open on it the sessions that wait for it, or attach to them."""
        assert link.connection is not None
        self._up[link.connection.fileno()] = link
        self._selector.register(link.connection, selectors.EVENT_READ)
        self._down.discard(link)
        calls = []
        for number in sorted(link.members):
            session = self._sessions[number]
            calls.append(session.opening(number, resume=session.may_be_open))
        if calls:
            self._send(link, calls)
        self.wake()

    def _give_up(self, link: ReconnectingLink) -> None:
        """Move the sessions of a server that stays away to another one, or fail their calls."""
        others = [each for each in self._all_links() if each.connection and each.address.server != link.address.server]
        cause = f"ServiceUnavailableError: {link.error or 'the server cannot be reached'}"
        for number in sorted(link.members):
            session = self._sessions[number]
            call = session.call
            if call is None:
                continue
            if others:
                if session.may_be_open:
                    session.start_over(cause)
                other = min(others, key=lambda each: len(each.members))
                link.members.discard(number)
                other.members.add(number)
                session.link = other
                self._send(other, [session.opening(number)])
            else:
                session.call = None
                if call[0] == "open":
                    self.arrived[number] = ServiceUnavailableError(cause.partition(": ")[2])
                else:
                    session.start_over(cause)
                    self.arrived[number] = session.failure(call, cause)


def _encoded(calls: list[Any]) -> bytes:
    try:
        return _encode(calls).encode()
    except (ValueError, TypeError, RecursionError):
        # An action without a JSON form is a malformed action, as None is.
        return _encode([[*call[:3], _or_none(call[3])] for call in calls]).encode()


def _or_none(argument: Any) -> Any:
    try:
        _encode(argument)
    except (ValueError, TypeError, RecursionError):
        return None
    return argument
