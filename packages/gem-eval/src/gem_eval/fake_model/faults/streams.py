"""Streams that break the protocol, or use parts of it that clients forget."""

from __future__ import annotations

import itertools
from typing import Any

from gem_eval.fake_model.connection import Pause, Step
from gem_eval.fake_model.faults.kinds import FaultKind, FaultNeed, FaultSettings

__all__ = ["KINDS"]

_ERROR = b'data: {"error": {"message": "The model failed while it answered.", "type": "server_error", "code": 500}}\n\n'
_DONE = b"data: [DONE]\n\n"
_COMMENT = b": PROCESSING\n\n"
_EVENT = 'data: {"choices": [{"index": 0, "delta": {"content": "caf\u00e9"}, "finish_reason": null}]}\n\n'.encode()


def _error_first(events: list[Step], settings: FaultSettings) -> list[Step]:
    return [_ERROR, _DONE]


def _error_later(events: list[Step], settings: FaultSettings) -> list[Step]:
    return [*events[:2], _ERROR, _DONE]


def _commented(events: list[Step], settings: FaultSettings) -> list[Step]:
    return [step for event in events for step in (_COMMENT, event)]


def _comments_alone(events: list[Step], settings: FaultSettings) -> list[Step]:
    pair: list[Step] = [Pause(settings.slow_seconds), _COMMENT]
    return [_COMMENT, *pair * 10_000]  # longer than any client waits


def _not_done(events: list[Step], settings: FaultSettings) -> list[Step]:
    return [event for event in events if event != _DONE]


def _cut_in_json(events: list[Step], settings: FaultSettings) -> list[Step]:
    return [*events[:2], _EVENT[:40]]


def _cut_in_character(events: list[Step], settings: FaultSettings) -> list[Step]:
    return [*events[:2], _EVENT[: _EVENT.index("é".encode()) + 1]]


def _byte_by_byte(steps: list[Step], settings: FaultSettings) -> list[Step]:
    data = b"".join(step for step in steps if isinstance(step, bytes))
    return list(itertools.chain.from_iterable((data[i : i + 7], Pause(0.0)) for i in range(0, len(data), 7)))


def _usage_last(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if any("usage" in chunk for chunk in chunks):
        return chunks
    return [*chunks, {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}]


def _usage_nowhere(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [chunk for chunk in chunks if not chunk.get("usage")]


def _never_finished(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for chunk in chunks:
        for choice in chunk.get("choices", ()):
            choice["finish_reason"] = None
    return chunks


KINDS = (
    FaultKind(
        "stream-error-first", 4, "streams an error as the first event", FaultNeed.STREAM, alter_events=_error_first
    ),
    FaultKind(
        "stream-error-later", 4, "streams an error after two events", FaultNeed.STREAM, alter_events=_error_later
    ),
    FaultKind("stream-comments", 4, "streams comments between the events", FaultNeed.STREAM, alter_events=_commented),
    FaultKind(
        "stream-comments-alone", 4, "streams comments and no event", FaultNeed.STREAM, alter_events=_comments_alone
    ),
    FaultKind(
        "stream-usage-last",
        4,
        "streams usage last, in a chunk without choices",
        FaultNeed.STREAM,
        alter_chunks=_usage_last,
    ),
    FaultKind(
        "stream-no-usage",
        4,
        "streams no usage, although it was asked for",
        FaultNeed.STREAM,
        alter_chunks=_usage_nowhere,
    ),
    FaultKind("stream-no-finish", 4, "streams no finish_reason", FaultNeed.STREAM, alter_chunks=_never_finished),
    FaultKind("stream-no-done", 4, "ends a stream without [DONE]", FaultNeed.STREAM, alter_events=_not_done),
    FaultKind("stream-cut-json", 4, "ends a stream in mid-JSON", FaultNeed.STREAM, alter_events=_cut_in_json),
    FaultKind("stream-cut-utf8", 4, "ends a stream in mid-character", FaultNeed.STREAM, alter_events=_cut_in_character),
    FaultKind(
        "stream-split",
        4,
        "streams in packets that split events and characters",
        FaultNeed.STREAM,
        alter_steps=_byte_by_byte,
    ),
)
