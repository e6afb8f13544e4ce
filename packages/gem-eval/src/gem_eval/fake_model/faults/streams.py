"""Streams that break the protocol, or use parts of it that clients forget."""

from __future__ import annotations

import itertools
from typing import Any

from gem_eval.fake_model.connection import Pause, Step
from gem_eval.fake_model.faults.kinds import FaultNeed, FaultSettings, kinds

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


_EVENTS = {
    "stream-error-first": ("streams an error as the first event", _error_first),
    "stream-error-later": ("streams an error after two events", _error_later),
    "stream-comments": ("streams comments between the events", _commented),
    "stream-comments-alone": ("streams comments and no event", _comments_alone),
    "stream-no-done": ("ends a stream without [DONE]", _not_done),
    "stream-cut-json": ("ends a stream in mid-JSON", _cut_in_json),
    "stream-cut-utf8": ("ends a stream in mid-character", _cut_in_character),
}
_CHUNKS = {
    "stream-usage-last": ("streams usage last, in a chunk without choices", _usage_last),
    "stream-no-usage": ("streams no usage, although it was asked for", _usage_nowhere),
    "stream-no-finish": ("streams no finish_reason", _never_finished),
}
_STEPS = {"stream-split": ("streams in packets that split events and characters", _byte_by_byte)}

KINDS = (
    *kinds(4, "alter_events", _EVENTS, FaultNeed.STREAM),
    *kinds(4, "alter_chunks", _CHUNKS, FaultNeed.STREAM),
    *kinds(4, "alter_steps", _STEPS, FaultNeed.STREAM),
)
