"""The contents of Gemini's interface, whose parts are texts, data and calls, as messages of chat completions."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from typing import Any

from gem_eval.clients.base import Message
from gem_eval.clients.gemini_dialect import SIGNATURE
from gem_eval.clients.json_text import encoded
from gem_gateway.dialects.base import CallSettings
from gem_gateway.dialects.fields import objects, optional_text, picture, text, unusable
from gem_gateway.dialects.gemini_runs import run_of
from gem_gateway.dialects.gemini_schemas import proto_field
from gem_gateway.dialects.message_blocks import simplest_content
from gem_gateway.dialects.server_tools import leave_out
from gem_gateway.tool_turns import echo

__all__ = ["read_contents", "signature", "signatures_of", "system_instruction"]

_SERVER_PARTS = ("executableCode", "codeExecutionResult", "toolCall", "toolResponse")
"""What tools of the server leave in a conversation."""

_RESULT_FIELDS = ("output", "result")
"""By Gemini's rule, the field of a function's response that is its result."""

_URL_SAFE = str.maketrans("-_", "+/")


def signatures_of(message: Message) -> dict[str | None, str]:
    """Return the thought signatures of an answer from a server of the same interface.

    Returns:
        Call id → the signature of the call; under None, that of the text.
    """
    details = (one for one in message.get("reasoning_details") or () if isinstance(one, Mapping))
    return {one.get("id"): one["data"] for one in details if one.get("type") == SIGNATURE and "data" in one}


def signature(signed: Mapping[str | None, str], identifier: str | None) -> dict[str, str]:
    """Return the field of a part with its signature; nothing if it has none."""
    return {"thoughtSignature": signed[identifier]} if identifier in signed else {}


def system_instruction(value: Any) -> str:
    """Return the system prompt: the texts of a content.

    Raises:
        ModelCallError: if it is something else.
    """
    if value is None:
        return ""
    if not isinstance(value, dict):
        raise unusable("systemInstruction must be a content: an object with parts", "systemInstruction")
    parts = objects(value.get("parts") or [], "systemInstruction.parts")
    return "\n\n".join(text(part.get("text"), f"systemInstruction.parts[{index}]") for index, part in enumerate(parts))


def read_contents(
    given: list[dict[str, Any]], settings: CallSettings, notes: list[str], *, may_end_with_model: bool = False
) -> list[Message]:
    """Return contents as messages. Contents of the model in a row are one answer, which a stream has brought in pieces.

    Calls may have no ids; a response belongs to the first call of its name that has none.

    Raises:
        ModelCallError: for roles and parts that are none, and if the last content is the model's, unless it may be.
    """
    messages: list[Message] = []
    calls = _OpenCalls()
    answer: list[tuple[str, dict[str, Any]]] = []
    for index, content in enumerate(given):
        param, role = f"contents[{index}]", content.get("role") or "user"
        places = [
            (f"{param}.parts[{number}]", part)
            for number, part in enumerate(objects(content.get("parts") or [], f"{param}.parts"))
        ]
        if role == "model":
            answer += places
            continue
        if role not in ("user", "function", "tool"):
            raise unusable(f"{param}.role must be user or model, got {role!r:.80}", f"{param}.role")
        if answer:
            messages += _answers(answer, calls, settings, notes)
            answer = []
        messages += _user(places, calls, settings, notes)
    if answer:
        if not (may_end_with_model or (settings.run_tools and run_of(answer[-1][1]))):
            raise unusable("the last content must not be the model's: answers cannot be begun for the model")
        messages += _answers(answer, calls, settings, notes)
    return messages


class _OpenCalls:
    """The calls of a conversation that have no response yet. To find one takes no look at all others."""

    def __init__(self) -> None:
        self._identifiers: list[str] = []
        self._ended: set[int] = set()
        self._waiting: defaultdict[tuple[str, str], deque[int]] = defaultdict(deque)

    def begin(self, identifier: str, name: str) -> str:
        """Note a call; return its id, which is made if it has none."""
        number = len(self._identifiers)
        identifier = identifier or f"call_{number + 1}"
        self._identifiers.append(identifier)
        self._waiting["id", identifier].append(number)
        self._waiting["name", name].append(number)
        return identifier

    def end(self, identifier: str, name: str, place: str) -> str:
        """Return the id of the call that a response answers: the call of that id, else the first of its name."""
        found = self._first("id", identifier)
        found = self._first("name", name) if found is None else found
        if found is None:
            raise unusable(f"{place} is a response of {name!r:.80}, and no call of it before is without one", place)
        self._ended.add(found)
        return self._identifiers[found]

    def _first(self, kind: str, value: str) -> int | None:
        waiting = self._waiting.get((kind, value))
        while waiting and waiting[0] in self._ended:
            waiting.popleft()
        return waiting[0] if waiting else None


def _answers(
    places: list[tuple[str, dict[str, Any]]], calls: _OpenCalls, settings: CallSettings, notes: list[str]
) -> Iterator[Message]:
    """Yield the messages of an answer: one, but for the turns before tools that the gateway has carried out in it."""
    turn: list[tuple[str, dict[str, Any]]] = []
    for place, part in places:
        run = run_of(part) if settings.run_tools else None
        if run is None:
            turn.append((place, part))
            continue
        if turn:
            yield _answer(turn, calls, settings, notes)
            turn = []
        yield echo(run)
    if turn:
        yield _answer(turn, calls, settings, notes)


def _answer(
    places: list[tuple[str, dict[str, Any]]], calls: _OpenCalls, settings: CallSettings, notes: list[str]
) -> Message:
    said: list[str] = []
    thoughts: list[str] = []
    made = []
    details: list[dict[str, Any]] = []
    for place, part in places:
        function = proto_field(part, "functionCall")
        owner: dict[str, Any] = {}
        if part.get("text") is not None:
            (thoughts if part.get("thought") is True else said).append(text(part["text"], f"{place}.text"))
        elif function is not None:
            name = _name(function, f"{place}.functionCall")
            arguments = function.get("args")
            if not isinstance(arguments, (dict, type(None))):
                raise unusable(f"{place}.functionCall.args must be an object", f"{place}.functionCall.args")
            identifier = calls.begin(optional_text(function.get("id"), f"{place}.functionCall.id"), name)
            called = {"name": name, "arguments": encoded(arguments or {}).decode()}
            made.append({"id": identifier, "type": "function", "function": called})
            owner = {"id": identifier}
        elif set(part) - {"thoughtSignature", "thought_signature", "thought"}:
            leave_out(_kind(part), place, settings, notes)
        if isinstance(signed := proto_field(part, "thoughtSignature"), str):
            details.append({"type": SIGNATURE, "data": signed, **owner})
    message: Message = {"role": "assistant", "content": "".join(said) or (None if made else "")}
    if thoughts:
        message["reasoning_content"] = "".join(thoughts)
    if details:
        message["reasoning_details"] = details
    if made:
        message["tool_calls"] = made
    return message


def _user(
    places: list[tuple[str, dict[str, Any]]], calls: _OpenCalls, settings: CallSettings, notes: list[str]
) -> Iterator[Message]:
    """Yield the messages of the user and of functions, in the order of the parts."""
    own: list[dict[str, Any]] = []
    for place, part in places:
        response = proto_field(part, "functionResponse")
        if response is None:
            own += _parts(part, place, settings, notes)
            continue
        if own:
            yield {"role": "user", "content": simplest_content(own)}
            own = []
        name = _name(response, f"{place}.functionResponse")
        identifier = optional_text(response.get("id"), f"{place}.functionResponse.id")
        told = [{"type": "text", "text": _result(response.get("response"), f"{place}.functionResponse.response")}]
        for number, inner in enumerate(objects(response.get("parts") or [], f"{place}.functionResponse.parts")):
            told += _parts(inner, f"{place}.functionResponse.parts[{number}]", settings, notes)
        called = calls.end(identifier, name, place)
        yield {"role": "tool", "tool_call_id": called, "content": simplest_content(told)}
    if own or not places:
        yield {"role": "user", "content": simplest_content(own)}


def _result(response: Any, param: str) -> str:
    """Return what a function has returned, as text."""
    if response is None:
        return ""
    if not isinstance(response, dict):
        raise unusable(f"{param} must be an object", param)
    for name in _RESULT_FIELDS:
        if set(response) == {name}:
            result = response[name]
            return result if isinstance(result, str) else encoded(result).decode()
    return encoded(response).decode()


def _parts(part: dict[str, Any], place: str, settings: CallSettings, notes: list[str]) -> list[dict[str, Any]]:
    """Return a part as content parts."""
    if part.get("text") is not None:
        return [{"type": "text", "text": text(part["text"], f"{place}.text")}]
    for kind, source in (("inlineData", "data"), ("fileData", "fileUri")):
        data = proto_field(part, kind)
        if not isinstance(data, dict):
            continue
        media = optional_text(proto_field(data, "mimeType"), f"{place}.{kind}.mimeType")
        found = text(proto_field(data, source), f"{place}.{kind}.{source}")
        if kind == "inlineData" and not media.startswith("image/"):
            notes.append(f"left out data of type {media[:80]!r} ({place}): the model takes text and pictures")
            told = f"[Data of type {media[:80]!r} was left out: only text and pictures are shown.]"
            return [{"type": "text", "text": told}]
        # Google's Python client writes the URL-safe alphabet.
        url = f"data:{media};base64,{found.translate(_URL_SAFE)}" if kind == "inlineData" else found
        return [picture(url, settings, f"{place}.{kind}.{source}")]
    if part:
        leave_out(_kind(part), place, settings, notes)
    return []


def _name(called: Any, param: str) -> str:
    if not isinstance(called, dict):
        raise unusable(f"{param} must be an object", param)
    return text(called.get("name"), f"{param}.name")


def _kind(part: dict[str, Any]) -> str:
    """Return what a part is called that is none of those that a model reads."""
    return next((kind for kind in _SERVER_PARTS if proto_field(part, kind) is not None), ", ".join(part))
