"""Connections that break, stall, or carry other bytes than they announce."""

from __future__ import annotations

import gzip
import itertools
import re
from collections.abc import Callable
from dataclasses import replace

from gem_eval.fake_model.connection import ConnectionEnd, HttpReply, Pause, Step
from gem_eval.fake_model.errors import nested_error
from gem_eval.fake_model.faults.kinds import FaultKind, FaultNeed, FaultSettings
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


KINDS = (
    FaultKind("reset-before-headers", 10, "resets before it answers", alter_steps=_instead(ConnectionEnd.RESET)),
    FaultKind("close-before-headers", 10, "closes before it answers", alter_steps=_instead(ConnectionEnd.CLOSE)),
    FaultKind("reset-after-headers", 10, "resets after the headers", alter_steps=_after_headers(ConnectionEnd.RESET)),
    FaultKind("reset-in-body", 10, "resets in the middle of the body", alter_steps=_in_body(ConnectionEnd.RESET)),
    FaultKind("truncated-body", 10, "closes in the middle of the body", alter_steps=_in_body(ConnectionEnd.CLOSE)),
    FaultKind(
        "dead-reused-socket",
        10,
        "answers, and resets at the next request on the connection",
        alter_steps=_afterwards(ConnectionEnd.DOOM),
    ),
    FaultKind(
        "unannounced-close",
        10,
        "answers, and closes the connection that it said it keeps",
        alter_steps=_afterwards(ConnectionEnd.CLOSE),
    ),
    FaultKind("slow-headers", 10, "sends the headers a byte at a time", alter_steps=_slow_headers),
    FaultKind("slow-body", 10, "sends the body a byte at a time", alter_steps=_slow_body),
    FaultKind("silence", 10, "never answers", alter_steps=_instead(ConnectionEnd.SILENCE)),
    FaultKind(
        "silence-after-headers", 10, "falls silent after the headers", alter_steps=_after_headers(ConnectionEnd.SILENCE)
    ),
    FaultKind("length-short", 10, "announces half of the body", need=FaultNeed.WHOLE, alter_steps=_announcing(0.5)),
    FaultKind(
        "length-long",
        10,
        "announces more than the body and falls silent",
        need=FaultNeed.WHOLE,
        alter_steps=_announcing(2),
    ),
    FaultKind("gzip", 10, "compresses the body", need=FaultNeed.WHOLE, alter_reply=_compressed),
    FaultKind(
        "gzip-broken",
        10,
        "announces a compressed body, sends a plain one",
        need=FaultNeed.WHOLE,
        alter_reply=_not_compressed,
    ),
    FaultKind("engine-dead", 10, "answers 500 and ends; later connections are refused", refuse=_dead, deadly=True),
)
