"""The ids of a prompt from a model server's own tokenizer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from gem.errors import NotSupportedError
from gem_eval.clients.base import Message
from gem_eval.clients.errors import ModelError
from gem_eval.clients.token_data import ids_of

__all__ = ["server_prompt_ids"]

Post = Callable[[str, dict[str, Any]], Awaitable[Any]]


async def server_prompt_ids(
    post: Post,
    server: str | None,
    model: str,
    messages: list[Message],
    tools: list[dict[str, Any]] | None,
    add_generation_prompt: bool = True,
) -> list[int]:
    """Return the ids of a conversation, by default up to and including the opening of the assistant's next turn.

    vLLM's ``/tokenize`` takes messages. llama.cpp renders them with ``/apply-template`` and tokenizes the text with its
    own ``/tokenize``.

    Raises:
        NotSupportedError: if the server does neither.
        ModelError: if it does not answer.
    """
    asked = {"messages": messages, "add_generation_prompt": add_generation_prompt}
    if tools:
        asked["tools"] = tools
    try:
        if server == "llamacpp":
            rendered = await post("/apply-template", asked)
            text = rendered.get("prompt") if isinstance(rendered, dict) else None
            answer = await post("/tokenize", {"content": text, "add_special": False, "parse_special": True})
        else:
            answer = await post("/tokenize", {"model": model, **asked})
    except ModelError as error:
        if error.status in (400, 404, 405, 422, 501):
            raise NotSupportedError(f"{_UNABLE} ({error})") from error
        raise
    ids = ids_of(answer.get("tokens")) if isinstance(answer, dict) else None
    if not ids:
        raise NotSupportedError(_UNABLE)
    return ids


_UNABLE = "the server does not tokenize conversations; exact tokens need tokenizer=…, a tokenizer of the same model"
