"""Connections that break, stall, or carry other bytes than they announce."""

from __future__ import annotations

import gzip
import itertools
import re
from collections.abc import Callable
from dataclasses import replace

from gem_eval.fake_model.connection import ConnectionEnd, HttpReply, Pause, Step
from gem_eval.fake_model.errors import nested_error
from gem_eval.fake_model.faults.kinds import FaultNeed, FaultSettings, kinds
from gem_eval.fake_model.model_request import ModelRequest

__all__ = ["KINDS"]

_AlterSteps = Callable[[list[Step], FaultSettings], list[Step]]

_LENGTH = re.compile(rb"Content-Length: (\d+)")


def _parts(steps: list[Step]) -> tuple[bytes, bytes]:
    """Return the headers and the body of a reply."""
    data = b"".join(step for step in steps if isinstance(step, bytes))
    end = data.index(b"\r\n\r\n") + 4
    return data[:end], data[end:]


def _instead(*ends: Step) -> _AlterSteps:
    return lambda steps, settings: list(ends)


def _after_headers(end: ConnectionEnd) -> _AlterSteps:
    return lambda steps, settings: [_parts(steps)[0], Pause(0.0), end]


def _in_body(end: ConnectionEnd) -> _AlterSteps:
    def alter(steps: list[Step], settings: FaultSettings) -> list[Step]:
        head, body = _parts(steps)
        return [head + body[: max(len(body) // 2, 1)], Pause(0.0), end]

    return alter


def _afterwards(end: ConnectionEnd) -> _AlterSteps:
    return lambda steps, settings: [*steps, end]


def _slow_headers(steps: list[Step], settings: FaultSettings) -> list[Step]:
    head, body = _parts(steps)
    return [*_slowly(head, settings), body]


def _slow_body(steps: list[Step], settings: FaultSettings) -> list[Step]:
    head, body = _parts(steps)
    return [head, *_slowly(body, settings)]


def _slowly(data: bytes, settings: FaultSettings) -> list[Step]:
    pause = Pause(settings.slow_seconds)
    return list(itertools.chain.from_iterable((data[i : i + 1], pause) for i in range(len(data))))


def _announcing(share: float) -> _AlterSteps:
    def alter(steps: list[Step], settings: FaultSettings) -> list[Step]:
        head, body = _parts(steps)
        head = _LENGTH.sub(b"Content-Length: %d" % int(len(body) * share), head)
        return [head + body, *([ConnectionEnd.SILENCE] if share > 1 else [])]

    return alter


def _compressed(reply: HttpReply) -> HttpReply:
    return replace(
        reply, body=gzip.compress(reply.body, mtime=0), headers=(*reply.headers, ("Content-Encoding", "gzip"))
    )


def _not_compressed(reply: HttpReply) -> HttpReply:
    return replace(reply, headers=(*reply.headers, ("Content-Encoding", "gzip")))


def _dead(request: ModelRequest, settings: FaultSettings) -> HttpReply:
    import orjson

    return HttpReply(500, orjson.dumps(nested_error("The engine died. See the log for the cause.", 500)))


_STEPS = {
    "reset-before-headers": ("resets before it answers", _instead(ConnectionEnd.RESET)),
    "close-before-headers": ("closes before it answers", _instead(ConnectionEnd.CLOSE)),
    "reset-after-headers": ("resets after the headers", _after_headers(ConnectionEnd.RESET)),
    "reset-in-body": ("resets in the middle of the body", _in_body(ConnectionEnd.RESET)),
    "truncated-body": ("closes in the middle of the body", _in_body(ConnectionEnd.CLOSE)),
    "dead-reused-socket": (
        "answers, and resets at the next request on the connection",
        _afterwards(ConnectionEnd.DOOM),
    ),
    "unannounced-close": (
        "answers, and closes the connection that it said it keeps",
        _afterwards(ConnectionEnd.CLOSE),
    ),
    "slow-headers": ("sends the headers a byte at a time", _slow_headers),
    "slow-body": ("sends the body a byte at a time", _slow_body),
    "silence": ("never answers", _instead(ConnectionEnd.SILENCE)),
    "silence-after-headers": ("falls silent after the headers", _after_headers(ConnectionEnd.SILENCE)),
}
_LENGTHS = {
    "length-short": ("announces half of the body", _announcing(0.5)),
    "length-long": ("announces more than the body and falls silent", _announcing(2)),
}
_ENCODINGS = {
    "gzip": ("compresses the body", _compressed),
    "gzip-broken": ("announces a compressed body, sends a plain one", _not_compressed),
}
_DEATHS = {"engine-dead": ("answers 500 and ends; later connections are refused", _dead)}

KINDS = (
    *kinds(10, "alter_steps", _STEPS),
    *kinds(10, "alter_steps", _LENGTHS, FaultNeed.WHOLE),
    *kinds(10, "alter_reply", _ENCODINGS, FaultNeed.WHOLE),
    *kinds(10, "refuse", _DEATHS, deadly=True),
)
