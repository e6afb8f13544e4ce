"""The parts of an episode's history, and the base of the wrappers that show it to the agent.

A *content* is an observation: a str, or a list of content parts. A *message* is a chat message, a dict
with ``role`` and ``content``. A *piece* is a content as part of a text: it ends with a newline.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from gem.arguments import boolean
from gem.core import Action, Env, Info, Observation, Wrapper
from gem.errors import ArgumentTypeError
from gem.text import action_text

__all__ = [
    "Content",
    "HistoryWrapper",
    "Message",
    "affixes",
    "assistant_message",
    "content_of",
    "copied",
    "is_text",
    "join",
    "latest_turns",
    "line",
    "piece",
    "shown_action",
    "text_with_calls",
    "tool_calls",
]

Content = Observation
Message = dict[str, Any]


class HistoryWrapper(Wrapper[Any, Action]):
    """Shows the agent the history of the episode in place of the latest observation.

    A subclass records turns in ``_begin`` and ``_extend``, and builds the observation in ``_shown``. Observations of
    the wrapped environment are str or lists of content parts. ``info`` is passed on unchanged; three of
    its keys have a meaning here:

    * ``parsed_action`` replaces the action in the history;
    * ``prefix`` and ``suffix``, of the latest ``info`` only, stand before and after the history.

    Args:
        env: the environment, which cannot know what a wrapper shows.
        announce: add a line to the first observation that says which earlier turns the agent will see.
    """

    def __init__(self, env: Env[Any, Any], announce: bool = False) -> None:
        super().__init__(env)
        self._announces = boolean("announce", announce)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        observation, info = super().reset(seed=seed, options=options)
        first = content_of(observation)
        self._begin(join((piece(first), self._announcement())) if self._announces else first)
        return self._shown(info), info

    def step(self, action: Action) -> tuple[Any, float, bool, bool, Info]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._extend(action, content_of(observation), info)
        return self._shown(info), reward, terminated, truncated, info

    def _announcement(self) -> str:
        """Return one sentence on the earlier turns that the agent will see."""
        return "Earlier turns are shown to you."

    def _begin(self, observation: Content) -> None:
        """Forget the last episode; this is the first observation of the next."""
        raise NotImplementedError

    def _extend(self, action: Action, observation: Content, info: Info) -> None:
        """Add one turn."""
        raise NotImplementedError

    def _shown(self, info: Info) -> Any:
        """Return the current observation of the agent."""
        raise NotImplementedError


def content_of(observation: Any) -> Content:
    """Return an observation as a content that shares nothing with the environment's own objects.

    Raises:
        ArgumentTypeError: if it is neither a str nor a list of content parts.
    """
    if isinstance(observation, str):
        return observation
    if isinstance(observation, list) and all(isinstance(part, Mapping) for part in observation):
        return [dict(part) for part in observation]
    raise ArgumentTypeError(
        "history wrappers take observations that are str or lists of content parts, "
        f"got an object of type {type(observation).__name__}"
    )


def affixes(info: Info) -> tuple[str, str]:
    """Return prefix and suffix of an info, each empty if absent."""
    prefix, suffix = info.get("prefix"), info.get("suffix")
    return prefix if isinstance(prefix, str) else "", suffix if isinstance(suffix, str) else ""


def latest_turns(number: int) -> str:
    """Return the announcement of a wrapper that shows a number of latest turns."""
    return f"The latest {number} turns are shown to you." if number > 1 else "The latest turn is shown to you."


def line(text: str) -> str:
    """Return a text with a newline at its end, unless it has one or is empty."""
    return text if not text or text[-1] == "\n" else text + "\n"


def piece(content: Content) -> Content:
    """Return a content with a newline at its end, as :func:`line` does; one that ends in a picture stays unchanged."""
    if isinstance(content, str):
        return line(content)
    if not content or not is_text(content[-1]):
        return content
    return [*content[:-1], {**content[-1], "text": line(content[-1]["text"])}]


def join(contents: Iterable[Content]) -> Content:
    """Join contents without anything between them. Texts that meet become one text part."""
    contents = list(contents)
    try:
        return "".join(contents)  # type: ignore[arg-type]  # refused at once if a list is among them
    except TypeError:
        pass
    parts: list[dict[str, Any]] = []
    texts: list[str] = []
    for part in _parts_of(contents):
        if is_text(part):
            texts.append(part["text"])
            continue
        if any(texts):
            parts.append({"type": "text", "text": "".join(texts)})
        texts = []
        parts.append(part)
    if any(texts):
        parts.append({"type": "text", "text": "".join(texts)})
    return parts


def is_text(part: Mapping[str, Any]) -> bool:
    """Return whether a content part is text."""
    return part.get("type") == "text" and isinstance(part.get("text"), str)


def shown_action(action: Action, info: Info) -> str:
    """Return an action as text: the part that took effect if the environment names one, native calls written out."""
    parsed = info.get("parsed_action")
    if isinstance(parsed, str):
        return parsed
    return action if isinstance(action, str) else text_with_calls(assistant_message(action, info))


def assistant_message(action: Action, info: Info) -> Message:
    """Return an action as an assistant message; a native one stays unchanged, tool calls included.

    A value that JSON cannot hold is not a model's message; only the text of such an action is kept.
    """
    parsed = info.get("parsed_action")
    if not isinstance(action, Mapping):
        text = parsed if isinstance(parsed, str) else action_text(action)
        return {"role": "assistant", "content": text or ""}
    try:
        message: Message = {**copied(dict(action)), "role": "assistant"}
    except (TypeError, ValueError, RecursionError):
        message = {"role": "assistant", "content": action_text(action) or ""}
    if not tool_calls(message):
        message.pop("tool_calls", None)
        if isinstance(parsed, str):
            message["content"] = parsed
        elif not isinstance(message.get("content"), (str, list)):
            message["content"] = ""
    return message


def copied(value: Any) -> Any:
    """Return a copy of a JSON value that shares nothing with it."""
    return json.loads(json.dumps(value))


def _parts_of(contents: Iterable[Content]) -> Iterable[dict[str, Any]]:
    for content in contents:
        if isinstance(content, str):
            yield {"type": "text", "text": content}
        else:
            yield from content


def tool_calls(message: Message) -> list[dict[str, Any]]:
    """Return the native tool calls of a message; none if one is malformed, as APIs would refuse them all."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return []
    for call in calls:
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            return []
    return calls


def text_with_calls(message: Message) -> str:
    """Return the text of an assistant message, each native tool call written out as ``<tool_call>{…}</tool_call>``."""
    lines = [action_text(message) or ""]
    for call in tool_calls(message):
        name = json.dumps(call["function"]["name"], ensure_ascii=False)
        arguments = call["function"].get("arguments")
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        lines.append(f'<tool_call>{{"name": {name}, "arguments": {arguments}}}</tool_call>')
    return "\n".join(filter(None, lines))
