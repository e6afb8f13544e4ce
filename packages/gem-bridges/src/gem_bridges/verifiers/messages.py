"""The messages that follow an action in a rollout of verifiers."""

from __future__ import annotations

from collections.abc import Sequence

from gem_bridges.messages import Message, text_of_content

__all__ = ["messages_after"]


def messages_after(before: Sequence[Message], said: Message, now: Sequence[Message]) -> Sequence[Message]:
    """Return the messages of a request that the agent has not seen.

    Args:
        before: the messages of the request before.
        said: the agent's answer to it.
        now: the messages of this request; all of them are new where an environment has rewritten the conversation.
    """
    known = len(before) + 1
    continues = list(now[: len(before)]) == list(before) and len(now) > known
    if not continues or now[len(before)].get("role") != "assistant":
        return now
    answered = text_of_content(now[len(before)].get("content"))
    return now[known:] if answered == text_of_content(said.get("content")) else now
