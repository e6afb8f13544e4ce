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
import secrets
import select
import socket
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from gem.errors import GemError
from gem.vector.env_runner import StepResult
from gem_server.client.address import EnvAddress, parse_address
from gem_server.client.link import SocketLink
from gem_server.errors import ServiceError, ServiceRefusedError, ServiceUnavailableError
from gem_server.wire_errors import error_of

__all__ = ["SessionClient"]

_encode = json.JSONEncoder(separators=(",", ":"), default=lambda _value: None).encode
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0  # seconds between two attempts to connect
_BATCH_BYTES = 2 << 20


class _Member:
    """One session."""

    __slots__ = (
        "account",
        "address",
        "call",
        "carrier",
        "fields",
        "follows_order",
        "lost",
        "name",
        "phase",
        "sequence",
    )

    def __init__(self, address: EnvAddress, fields: dict[str, Any], carrier: _Carrier) -> None:
        self.address = address
        self.fields = fields
        self.carrier = carrier
        self.name = secrets.token_hex(16)
        self.sequence = 0
        self.call: tuple[str, Any] | None = None
        self.phase = "new"  # new, opening, open
        self.account: list[int | None] = [fields.get("seed"), 0, 0, None, 1]
        self.lost = ""
        self.follows_order = False


class _Carrier:
    """One connection to one server, which may be lost and made again."""

    def __init__(self, address: EnvAddress) -> None:
        self.address = address
        self.link: SocketLink | None = None
        self.members: set[int] = set()
        self.given_up_at = 0.0
        self.next_try = 0.0
        self.pause = _FIRST_PAUSE
        self.attempt: threading.Thread | None = None
        self.outcome: SocketLink | ServiceError | None = None
        self.error = ""


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
        self._members: dict[int, _Member] = {}
        self._carriers: dict[str, list[_Carrier]] = {}
        self._poller = select.poll()  # not select, which takes no descriptors above 1023
        self._up: dict[int, _Carrier] = {}  # by the descriptor of the link
        self._down: set[_Carrier] = set()  # carriers of sessions that have no link
        self._waker, self._woken = socket.socketpair()
        self._waker.setblocking(False)
        self._woken.setblocking(False)
        self._poller.register(self._woken, select.POLLIN)

    def wait_readable(self) -> bool:
        """Wait until :meth:`collect` may have something to do; any one thread beside the caller's may call this."""
        poller, unsettled = select.poll(), bool(self._down)
        for descriptor in [*self._up, self._woken.fileno()]:
            poller.register(descriptor, select.POLLIN)
        ready = {descriptor for descriptor, _ in poller.poll(_FIRST_PAUSE * 1000 if unsettled else None)}
        if ready == {self._woken.fileno()}:  # the connections have changed, or there is nothing more to watch
            self._drain_wake_ups()
            return bool(self._down or self.arrived)
        return bool(ready) or unsettled

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
            fields: of :class:`gem_server.sessions.OpenRequest`, without the id.
        """
        address = parse_address(url)
        self.remove(number)
        carriers = self._carriers.setdefault(address.server, [])
        if len(carriers) < self._per_server:
            carriers.append(_Carrier(address))
            carrier = carriers[-1]
        else:
            carrier = min(carriers, key=lambda each: len(each.members))
        member = self._members[number] = _Member(address, dict(fields), carrier)
        carrier.members.add(number)
        member.call = ("open", None)
        if carrier.link is None:
            self._start(carrier)
        else:
            self._send(carrier, [self._opening(number, member)])

    def remove(self, number: int) -> None:
        """Close a session without waiting."""
        member = self._members.pop(number, None)
        if member is None:
            return
        member.carrier.members.discard(number)
        if member.carrier.link is not None and member.phase != "new":
            with suppress(ConnectionError):
                member.carrier.link.send(_encode([[number, 0, "close"]]).encode())

    def connect(self, urls: Iterable[str]) -> None:
        """Reach servers now, and raise what a background attempt would only report.

        Raises:
            ServiceUnavailableError, ServiceRefusedError: if one cannot be used.
        """
        for url in dict.fromkeys(urls):
            address = parse_address(url)
            carriers = self._carriers.setdefault(address.server, [])
            if not carriers:
                carrier = _Carrier(address)
                carriers.append(carrier)
                self._connected(carrier, SocketLink(address, self._token_for(address), self._connect_timeout))

    def follows_order(self, number: int) -> bool:
        """Return whether the environment of a session goes through an order of its own."""
        return self._members[number].follows_order

    def submit(self, numbers: Sequence[int], name: str, arguments: Sequence[Any]) -> None:
        """Begin a call in several sessions; none of them has one under way."""
        batches: dict[_Carrier, list[Any]] = {}
        members = self._members
        for number, argument in zip(numbers, arguments, strict=True):
            member = members[number]
            member.call = (name, argument)
            member.sequence += 1
            if name == "reset" and argument.get("seed") is not None:
                member.account[:3] = [argument["seed"], 0, 0]
            carrier = member.carrier
            if member.phase == "open" and carrier.link is not None:
                if carrier in batches:
                    batches[carrier].append([number, member.sequence, name, argument])
                else:
                    batches[carrier] = [[number, member.sequence, name, argument]]
            elif carrier.link is not None and member.phase == "new":
                batches.setdefault(carrier, []).append(self._opening(number, member))
            elif carrier.link is None:
                self._start(carrier)
        for carrier, calls in batches.items():
            self._send(carrier, calls)

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
                elif wait is None or wait > _FIRST_PAUSE:
                    wait = _FIRST_PAUSE
            self._read(wait)
            if len(self.arrived) >= count or (deadline is not None and time.monotonic() >= deadline):
                return

    def close(self) -> None:
        """Close all sessions and connections, without waiting."""
        for carrier in self._all_carriers():
            if carrier.link is not None:
                open_ = [number for number in carrier.members if self._members[number].phase != "new"]
                with suppress(ConnectionError):
                    carrier.link.send(_encode([[number, 0, "close"] for number in open_]).encode())
                self._unwatch(carrier)
            if carrier.attempt is not None:
                carrier.attempt.join()
                if isinstance(carrier.outcome, SocketLink):
                    carrier.outcome.close()
        self._carriers, self._members = {}, {}
        self._waker.close()
        self._woken.close()

    # Reading

    def _read(self, wait: float | None) -> None:
        ready = self._poller.poll(None if wait is None else wait * 1000)
        for descriptor, _ in ready:
            carrier = self._up.get(descriptor)
            link = None if carrier is None else carrier.link
            if carrier is None or link is None:
                self._drain_wake_ups()
                continue
            failure = None
            try:
                link.receive()
            except ConnectionError as error:
                failure = error
            self._take_messages(link)
            if failure is not None and carrier.link is link:
                self._lost(carrier, str(failure))

    def _take_messages(self, link: SocketLink) -> None:
        if link.messages:
            messages, link.messages = link.messages, []
            for message in messages:
                self._take(message)

    def _take(self, message: bytes) -> None:
        members, arrived = self._members, self.arrived
        for answer in json.loads(message):
            number, sequence = answer[0], answer[1]
            member = members.get(number)
            if member is None:
                continue
            if member.phase != "open":
                if sequence == 0:
                    self._opened(number, member, answer)
            elif member.call is None or sequence != member.sequence:
                continue  # an answer to a call that was repeated, and came twice
            elif len(answer) == 7:
                member.call = None
                arrived[number] = result = (answer[2], answer[3], answer[4], answer[5], answer[6])
                if result[2] or result[3] or member.account[4]:
                    _count(member.account, result)
            elif len(answer) == 5 and answer[2] == "error":
                self._refused(number, member, answer[3], answer[4])
            else:
                member.call = None
                arrived[number] = answer[2]

    def _refused(self, number: int, member: _Member, kind: str, message: str) -> None:
        if kind == "UnknownSessionError":
            self._open_again(number, member, f"UnknownSessionError: {message}")
            return
        member.call = None
        self.arrived[number] = error_of(kind, message)

    # Opening

    def _opening(self, number: int, member: _Member, resume: bool = False) -> list[Any]:
        member.phase = "resuming" if resume else "opening"
        asked: dict[str, Any] = {"session": member.name, "env": member.address.env_id, **member.fields}
        if resume:
            asked["resume"] = True
        elif member.lost:
            asked.update(lost=member.lost, account=member.account)
        return [number, 0, "open", asked]

    def _opened(self, number: int, member: _Member, answer: list[Any]) -> None:
        if answer[2] == "error":
            kind, text = answer[3], answer[4]
            if member.phase == "resuming" and kind == "UnknownSessionError":
                self._open_again(number, member, "ServerLostError: the server has lost the session, and its episode")
                return
            member.phase = "new"
            member.name = secrets.token_hex(16)
            call, member.call = member.call, None
            if call is not None and call[0] == "open":
                self.arrived[number] = error_of(kind, text)
            elif call is not None:
                self.arrived[number] = self._failure(member, call, f"{kind}: {text}")
            return
        member.phase, member.lost = "open", ""
        member.follows_order = answer[2]["follows_order"]
        call = member.call
        if call is None:
            return
        if call[0] == "open":
            member.call = None
            self.arrived[number] = ("", 0.0, False, False, {})
        else:
            self._send(member.carrier, [[number, member.sequence, *call]])

    def _open_again(self, number: int, member: _Member, cause: str) -> None:
        """Open a session in the place of one that is gone, with its episode."""
        self._lose_episode(member, cause)
        if member.carrier.link is not None:
            self._send(member.carrier, [self._opening(number, member)])

    @staticmethod
    def _lose_episode(member: _Member, cause: str) -> None:
        member.name = secrets.token_hex(16)
        member.sequence = 1 if member.call is not None and member.call[0] != "open" else 0
        member.lost = cause
        member.phase = "new"

    # Connections

    def _all_carriers(self) -> list[_Carrier]:
        return [carrier for carriers in self._carriers.values() for carrier in carriers]

    def _token_for(self, address: EnvAddress) -> str | None:
        return self._token.get(address.server) if isinstance(self._token, Mapping) else self._token

    def _send(self, carrier: _Carrier, calls: list[Any]) -> None:
        link = carrier.link
        if link is None:
            self._start(carrier)
            return
        try:
            text = _encoded(calls)
            if len(text) <= _BATCH_BYTES or len(calls) == 1:
                link.send(text)
                self._take_messages(link)  # they make no descriptor readable any more
            else:
                half = len(calls) // 2
                self._send(carrier, calls[:half])
                self._send(carrier, calls[half:])
        except ConnectionError as error:
            if carrier.link is link:
                self._lost(carrier, str(error))

    def _lost(self, carrier: _Carrier, error: str) -> None:
        if carrier.link is not None:
            self._unwatch(carrier)
        carrier.error = error
        carrier.pause, carrier.next_try = _FIRST_PAUSE, 0.0
        carrier.given_up_at = time.monotonic() + self._reconnect_timeout
        self._start(carrier)
        self.wake()

    def _unwatch(self, carrier: _Carrier) -> None:
        assert carrier.link is not None
        self._poller.unregister(carrier.link)
        self._up.pop(carrier.link.fileno(), None)
        carrier.link.close()
        carrier.link = None
        if carrier.members:
            self._down.add(carrier)

    def _start(self, carrier: _Carrier) -> None:
        """Begin an attempt to connect, in a thread of its own, so that the sessions of other servers go on."""
        if carrier.link is not None:
            return
        self._down.add(carrier)
        if carrier.attempt is not None or time.monotonic() < carrier.next_try:
            return
        if carrier.given_up_at <= time.monotonic() and carrier.outcome is None and not carrier.error:
            carrier.given_up_at = time.monotonic() + self._reconnect_timeout
        carrier.outcome = None
        carrier.attempt = threading.Thread(target=self._attempt, args=(carrier,), daemon=True)
        carrier.attempt.start()

    def _attempt(self, carrier: _Carrier) -> None:
        try:
            carrier.outcome = SocketLink(carrier.address, self._token_for(carrier.address), self._connect_timeout)
        except ServiceError as error:
            carrier.outcome = error
        except Exception as error:  # whatever it was, the thread must not end without a word
            carrier.outcome = ServiceUnavailableError(f"{type(error).__name__}: {error}")
        self.wake()

    def _tend(self) -> None:
        """Go on with the connections that are missing."""
        now = time.monotonic()
        for carrier in list(self._down):
            if not carrier.members and carrier.attempt is None:
                self._down.discard(carrier)
                continue
            outcome = carrier.outcome
            if carrier.attempt is not None and outcome is not None:
                carrier.attempt.join()
                carrier.attempt = carrier.outcome = None
                if isinstance(outcome, SocketLink):
                    self._connected(carrier, outcome)
                    continue
                carrier.error = str(outcome)
                carrier.pause = min(_LONGEST_PAUSE, carrier.pause * 2)
                carrier.next_try = now + carrier.pause
                if isinstance(outcome, ServiceRefusedError):
                    carrier.given_up_at = now
            if now >= carrier.given_up_at and carrier.attempt is None:
                self._give_up(carrier)
            if carrier.members:
                self._start(carrier)

    def _connected(self, carrier: _Carrier, link: SocketLink) -> None:
        carrier.link = link
        self._up[link.fileno()] = carrier
        self._poller.register(link, select.POLLIN)
        self._down.discard(carrier)
        carrier.error, carrier.pause, carrier.next_try = "", _FIRST_PAUSE, 0.0
        calls = []
        for number in sorted(carrier.members):
            member = self._members[number]
            calls.append(self._opening(number, member, resume=member.phase in ("open", "resuming")))
        if calls:
            self._send(carrier, calls)
        self.wake()

    def _give_up(self, carrier: _Carrier) -> None:
        """Move the sessions of a server that stays away to another one, or fail their calls."""
        others = [
            each
            for each in self._all_carriers()
            if each.link is not None and each.address.server != carrier.address.server
        ]
        cause = f"ServiceUnavailableError: {carrier.error or 'the server cannot be reached'}"
        for number in sorted(carrier.members):
            member = self._members[number]
            call = member.call
            if others and call is not None:
                other = min(others, key=lambda each: len(each.members))
                if member.phase in ("open", "resuming"):
                    self._lose_episode(member, cause)
                carrier.members.discard(number)
                other.members.add(number)
                member.carrier = other
                self._send(other, [self._opening(number, member)])
            elif call is not None:
                member.call = None
                if call[0] == "open":
                    self.arrived[number] = ServiceUnavailableError(cause.partition(": ")[2])
                else:
                    self._lose_episode(member, cause)
                    self.arrived[number] = self._failure(member, call, cause)
        carrier.given_up_at = time.monotonic() + self._reconnect_timeout

    @staticmethod
    def _failure(member: _Member, call: tuple[str, Any], error: str) -> StepResult | GemError:
        """Return the result of a call that no server could run."""
        if call[0] not in ("step", "reset"):
            return ServiceUnavailableError(error)
        info: dict[str, Any] = {"error": error}
        if call[0] == "step" and member.fields.get("autoreset") == "same_step":
            info.update(final_observation="", final_info={"error": error})
        return "", 0.0, False, True, info


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


def _count(account: list[int | None], result: StepResult) -> None:
    """Keep the account of a session (:data:`gem.vector.env_runner.RunnerAccount`) as far as the results show it."""
    _, _, terminated, truncated, info = result
    failed = "error" in info or "error" in info.get("final_info", ())
    over = (terminated or truncated) and "final_info" not in info
    account[1] = (account[1] or 0) + failed
    if not over:
        account[2], account[3] = (account[2] or 0) + 1, info.get("seed")
    account[4] = int(over)
