"""OpenAI's chat completions: ``POST /v1/chat/completions``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gem_eval.clients.base import Completion, Message
from gem_gateway.call_errors import ModelCallError
from gem_gateway.call_sampling import SAMPLING_FIELDS
from gem_gateway.calls import ModelCall
from gem_gateway.dialects.base import AnswerHead, CallSettings, event, pieces, usage_of
from gem_gateway.dialects.fields import function_tool, objects, optional_text, picture, sampling, text, unusable, whole
from gem_gateway.dialects.openai_errors import openai_error
from gem_gateway.dialects.server_tools import leave_out

__all__ = ["ChatDialect", "chat_usage", "passed_on", "stop_texts", "token_logprobs"]

PASSED_ON = (*SAMPLING_FIELDS, "reasoning_effort")
"""Fields of a request that reach the model's server as they are. All others do not, for some of them would change more
than the sampling: the chat template, the cache, where the server looks for files."""

_KEPT = ("metadata", "prompt_cache_key", "safety_identifier", "service_tier", "store", "user", "verbosity")
"""Fields that are recorded with the call and mean nothing to the model's server."""

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
"""Role in a request → role in chat templates, of which few know a developer."""

_PLAIN = ("user", "assistant")

_SERVER_FIELDS = ("web_search_options", "functions", "audio")


class ChatDialect:
    """Chat completions, with reasoning in ``reasoning_content`` as vLLM, SGLang and DeepSeek give it."""

    name = "chat"
    ping = b": keep-alive\n\n"

    def read(self, body: dict[str, Any], settings: CallSettings) -> ModelCall:
        notes: list[str] = []
        messages = _messages(body.get("messages"), settings)
        if not messages:
            raise unusable("messages must hold at least one message", "messages")
        if (whole(body.get("n"), "n", minimum=1) or 1) != 1:
            raise unusable("n must be 1: one answer for each call", "n")
        for name in _SERVER_FIELDS:
            if body.get(name) not in (None, []):  # an empty object switches the web search on
                leave_out(name, name, settings, notes)
        tools = _tools(body.get("tools"), settings, notes)
        extra = passed_on(body)
        choice = body.get("tool_choice")
        if tools and choice not in (None, "auto"):
            extra["tool_choice"] = _choice(choice, tools)
        if tools and body.get("parallel_tool_calls") is False:
            extra["parallel_tool_calls"] = False
        limit = "max_completion_tokens" if body.get("max_completion_tokens") is not None else "max_tokens"
        top = whole(body.get("top_logprobs"), "top_logprobs") or 0
        options = body.get("stream_options")
        metadata = {name: body[name] for name in _KEPT if body.get(name) is not None}
        if isinstance(options, dict) and options.get("include_usage") is True:
            metadata["include_usage"] = True
        response_format = body.get("response_format")
        if response_format is not None and not isinstance(response_format, dict):
            raise unusable("response_format must be an object", "response_format")
        return ModelCall(
            messages,
            tools or None,
            sampling(
                body,
                limit,
                extra,
                stop=stop_texts(body.get("stop")),
                logprobs=body.get("logprobs") is True,
                top_logprobs=top if body.get("logprobs") is True else 0,
            ),
            response_format,
            self.name,
            optional_text(body.get("model"), "model"),
            body.get("stream") is True,
            metadata=metadata,
            notes=notes,
        )

    def answer(self, call: ModelCall, completion: Completion, head: AnswerHead) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": _content(completion), "refusal": None}
        if completion.reasoning:
            message["reasoning_content"] = completion.reasoning
        if completion.tool_calls:
            message["tool_calls"] = completion.tool_calls
        choice = {
            "index": 0,
            "message": message,
            "logprobs": _logprobs(completion) if call.sampling.logprobs else None,
            "finish_reason": finish_reason(completion),
        }
        return {
            **_head(head, "chat.completion"),
            "choices": [choice],
            "usage": chat_usage(usage_of(call, completion)),
        }

    def stream(self, call: ModelCall, completion: Completion, head: AnswerHead) -> Iterator[bytes]:
        common = _head(head, "chat.completion.chunk")

        def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
            return event({**common, "choices": [{"index": 0, "delta": delta, "finish_reason": finish, **more}]})

        yield chunk({"role": "assistant", "content": ""})
        for piece in pieces(completion.reasoning or ""):
            yield chunk({"reasoning_content": piece})
        if call.sampling.logprobs and completion.text:
            # Tokens need not end where the pieces of the text do, so that they come with it in one.
            yield chunk({"content": completion.text}, logprobs=_logprobs(completion))
        else:
            for piece in pieces(completion.text):
                yield chunk({"content": piece})
        for index, made in enumerate(completion.tool_calls):
            function = made["function"]
            opening = {"name": function["name"], "arguments": ""}
            yield chunk({"tool_calls": [{"index": index, "id": made["id"], "type": "function", "function": opening}]})
            for piece in pieces(function["arguments"]):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield chunk({}, finish_reason(completion))
        if call.metadata.get("include_usage"):
            yield event({**common, "choices": [], "usage": chat_usage(usage_of(call, completion))})
        yield b"data: [DONE]\n\n"

    def error(self, error: ModelCallError) -> dict[str, Any]:
        return openai_error(error)

    def error_event(self, error: ModelCallError) -> bytes:
        return event(openai_error(error))


def finish_reason(completion: Completion) -> str:
    """Return why the model stopped, in a word that clients know."""
    if completion.finish_reason in ("length", "content_filter"):
        return completion.finish_reason
    return "tool_calls" if completion.tool_calls else "stop"


def chat_usage(counts: dict[str, int]) -> dict[str, Any]:
    """Return counts of tokens as OpenAI's completions have them."""
    return {
        "prompt_tokens": counts["prompt_tokens"],
        "completion_tokens": counts["completion_tokens"],
        "total_tokens": counts["prompt_tokens"] + counts["completion_tokens"],
        "prompt_tokens_details": {"cached_tokens": counts["cached_tokens"]},
        "completion_tokens_details": {"reasoning_tokens": counts["reasoning_tokens"]},
    }


def passed_on(body: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a request that reach the model's server as they are."""
    return {name: body[name] for name in PASSED_ON if body.get(name) is not None}


def stop_texts(value: Any, param: str = "stop") -> tuple[str, ...]:
    """Return the texts that end an answer.

    Raises:
        ModelCallError: if they are neither a text, nor a list of texts, nor missing.
    """
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list):
        raise unusable(f"{param} must be a string or a list of strings", param)
    return tuple(text(item, f"{param}[{index}]") for index, item in enumerate(value))


def _head(head: AnswerHead, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{head.identity}", "object": kind, "created": head.created, "model": head.model}


def _content(completion: Completion) -> str | None:
    return completion.text or (None if completion.tool_calls else "")


def _messages(value: Any, settings: CallSettings) -> list[Message]:
    """Return a conversation. A text of the user or the assistant, which most messages are, is taken as it is."""
    found = list(value) if isinstance(value, list) else objects(value, "messages")
    for index, message in enumerate(found):
        if not isinstance(message, dict):
            objects(value, "messages")
        if len(message) != 2 or message.get("role") not in _PLAIN or type(message.get("content")) is not str:
            found[index] = _message(message, f"messages[{index}]", settings)
    return found


def _message(message: dict[str, Any], param: str, settings: CallSettings) -> Message:
    role = message.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise unusable(f"{param}.role must be one of {', '.join(_ROLES)}, got {role!r:.80}", f"{param}.role")
    read: Message = {"role": _ROLES[role], "content": _message_content(message.get("content"), param, settings)}
    if read["content"] is None and role != "assistant":
        raise unusable(f"{param}.content is missing, and only the assistant's may be", f"{param}.content")
    if isinstance(name := message.get("name"), str):
        read["name"] = name
    if role == "tool":
        read["tool_call_id"] = text(message.get("tool_call_id"), f"{param}.tool_call_id")
    if role == "assistant":
        for field in ("reasoning_content", "reasoning"):
            if isinstance(thought := message.get(field), str) and thought:
                read["reasoning_content"] = thought
                break
        if message.get("tool_calls"):
            calls = objects(message["tool_calls"], f"{param}.tool_calls")
            read["tool_calls"] = [_call(call, f"{param}.tool_calls[{index}]") for index, call in enumerate(calls)]
    return read


def _message_content(content: Any, param: str, settings: CallSettings) -> str | list[dict[str, Any]] | None:
    if content is None or isinstance(content, str):
        return content
    parts = []
    for index, part in enumerate(objects(content, f"{param}.content")):
        place = f"{param}.content[{index}]"
        kind = part.get("type")
        if kind in ("text", "refusal"):
            parts.append({"type": "text", "text": text(part.get(kind), f"{place}.{kind}")})
        elif kind == "image_url":
            given = part.get("image_url")
            url, detail = (given.get("url"), given.get("detail")) if isinstance(given, dict) else (given, None)
            parts.append(picture(url, settings, f"{place}.image_url.url", detail))
        else:
            raise unusable(f"{place}.type must be text or image_url, got {kind!r:.80}", f"{place}.type")
    return parts


def _call(call: dict[str, Any], param: str) -> dict[str, Any]:
    function = call.get("function")
    if call.get("type", "function") != "function" or not isinstance(function, dict):
        raise unusable(f"{param} must be a call of a function", param)
    return {
        "id": text(call.get("id"), f"{param}.id"),
        "type": "function",
        "function": {
            "name": text(function.get("name"), f"{param}.function.name"),
            "arguments": optional_text(function.get("arguments"), f"{param}.function.arguments"),
        },
    }


def _tools(value: Any, settings: CallSettings, notes: list[str]) -> list[dict[str, Any]]:
    tools = []
    for index, tool in enumerate(objects(value or [], "tools")):
        param = f"tools[{index}]"
        function = tool.get("function")
        if tool.get("type", "function") == "function" and isinstance(function, dict):
            tools.append(
                function_tool(function.get("name"), function.get("description"), function.get("parameters"), param)
            )
        else:
            leave_out(str(tool.get("type")), param, settings, notes)
    return tools


def _choice(choice: Any, tools: list[dict[str, Any]]) -> Any:
    if choice in ("none", "required"):
        return choice
    function = choice.get("function") if isinstance(choice, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not any(tool["function"]["name"] == name for tool in tools):
        raise unusable(
            "tool_choice must be none, auto, required or a declared function, such as "
            '{"type": "function", "function": {"name": …}}',
            "tool_choice",
        )
    return {"type": "function", "function": {"name": name}}


def _logprobs(completion: Completion) -> dict[str, Any] | None:
    content = token_logprobs(completion)
    return None if content is None else {"content": content, "refusal": None}


def token_logprobs(completion: Completion) -> list[dict[str, Any]] | None:
    """Return the log-probabilities of an answer's tokens; None where the model's server gave none."""
    if completion.logprobs is None or completion.tokens is None:
        return None
    entries = []
    for index, (token, logprob) in enumerate(zip(completion.tokens, completion.logprobs, strict=False)):
        top = completion.top_logprobs[index] if completion.top_logprobs else []
        entries.append(
            {**_entry(token, logprob), "top_logprobs": [_entry(other, probability) for other, probability in top]}
        )
    return entries


def _entry(token: str, logprob: float) -> dict[str, Any]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode("utf-8", "replace"))}
