"""What a dialect does with calls and answers: :class:`CallDialect`, and what all dialects share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from gem.tools.base import Tool
from gem_eval.clients import Completion
from gem_eval.clients.json_text import encoded, strictly_decoded
from gem_gateway.call_errors import ModelCallError
from gem_gateway.calls import ModelCall

__all__ = [
    "AnswerHead",
    "CallDialect",
    "CallSettings",
    "arguments_object",
    "estimated_tokens",
    "event",
    "pieces",
    "usage_of",
]

_PIECE = 48
"""Characters of one piece of a stream."""

_BYTES_PER_TOKEN = 4
"""Where nothing counts tokens; about what tokenizers make of English text and code."""


@dataclass(frozen=True)
class CallSettings:
    """What a session lets programs ask for.

    Attributes:
        server_tools: what becomes of tools that a hosted API would run itself, such as its web search: ``"drop"``
            leaves them out with a note in :attr:`ModelCall.notes`, ``"refuse"`` refuses the call.
        run_tools: those that the gateway carries out itself: ``"web_search"`` → a tool with the argument ``query``,
            ``"code_interpreter"`` → one with ``code``; see :func:`gem_gateway.tool_specs.declared_tools`.
        remote_pictures: whether a picture may be a URL that the model's server fetches. Such a fetch leaves the box
            in which the program is confined, so that the default takes pictures that are in the request alone.
    """

    server_tools: str = "drop"
    remote_pictures: bool = False
    run_tools: Mapping[str, Tool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AnswerHead:
    """What an answer carries beside the completion."""

    identity: str
    """Letters and digits, different for each answer of a gateway; dialects put their prefix before it."""
    model: str
    created: int
    """Unix seconds."""


class CallDialect(Protocol):
    """Translates between the bodies of one interface and :class:`ModelCall` and :class:`Completion`."""

    name: str
    """As in :attr:`ModelCall.dialect`."""

    def read(self, body: dict[str, Any], settings: CallSettings) -> ModelCall:
        """Return the call in a request's body.

        Raises:
            ModelCallError: of the kind ``unusable``, if there is none.
        """

    def answer(self, call: ModelCall, completion: Completion, head: AnswerHead) -> dict[str, Any]:
        """Return the body of an answer that is not streamed."""

    def stream(self, call: ModelCall, completion: Completion, head: AnswerHead) -> Iterator[bytes]:
        """Yield the server-sent events of the same answer."""

    def error(self, error: ModelCallError) -> dict[str, Any]:
        """Return the body that tells an error."""

    def error_event(self, error: ModelCallError) -> bytes:
        """Return the server-sent event that tells an error in a stream that has begun."""

    @property
    def ping(self) -> bytes:
        """What keeps a stream alive before the answer, and which no client takes for a part of it."""


def event(data: Mapping[str, Any], name: str | None = None) -> bytes:
    """Return a server-sent event. JSON has no raw line break, so that no text can end the event before its end."""
    line = b"data: %b\n\n" % encoded(data)
    return line if name is None else b"event: %b\n%b" % (name.encode(), line)


def pieces(text: str) -> Iterable[str]:
    """Return a text in the pieces in which it is streamed."""
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))


def usage_of(call: ModelCall, completion: Completion) -> dict[str, int]:
    """Return the four counts of :attr:`Completion.usage`, estimated where the model's server is silent."""
    counts = dict(completion.usage or {})
    if "prompt_tokens" not in counts:
        ids = completion.prompt_token_ids
        counts["prompt_tokens"] = len(ids) if ids is not None else estimated_tokens([call.messages, call.tools or []])
    if "completion_tokens" not in counts:
        ids = completion.token_ids
        counts["completion_tokens"] = (
            len(ids)
            if ids is not None
            else estimated_tokens([completion.reasoning or "", completion.text, completion.tool_calls])
        )
    counts.setdefault("reasoning_tokens", 0)
    counts.setdefault("cached_tokens", 0)
    return counts


def estimated_tokens(value: Any) -> int:
    """Return about how many tokens a value has as text: one for each four bytes of its JSON, pictures not counted."""
    return -(-len(encoded(_without_pictures(value))) // _BYTES_PER_TOKEN)


def _without_pictures(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_pictures(item) for key, item in value.items() if key != "image_url"}
    if isinstance(value, list):
        return [_without_pictures(item) for item in value]
    return value


def arguments_object(text: str) -> dict[str, Any]:
    """Return the arguments of a tool call as an object. Text that is none is kept under ``malformed``."""
    try:
        value = strictly_decoded(text or "{}")
    except ValueError:
        return {"malformed": text}
    return value if isinstance(value, dict) else {"malformed": text}
