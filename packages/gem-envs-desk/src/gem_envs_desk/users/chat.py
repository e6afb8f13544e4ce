"""What all models that play users share: the chat, and words for their prompts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gem_envs_desk.task import Slot, UserScript
from gem_rollout.simulated_people.faults import UserFault

__all__ = ["MANNERS", "STOP", "Ask", "ModelChat", "about_slot"]

Ask = Callable[[list[dict[str, Any]]], dict[str, Any]]
"""Returns the model's next message to chat messages; raises if there is none."""
STOP = "###STOP###"
"""What the model writes to end the conversation."""
MANNERS = {
    "plain": "You are plain and polite.",
    "terse": "You use as few words as you can.",
    "chatty": "You are chatty and warm.",
    "formal": "You are formal.",
}
"""Manner of a user → the sentence for it in a prompt."""


class ModelChat:
    """A conversation as a model sees it that plays the user: its own messages are the assistant's.

    The first message is that of the script, so that every episode of a task begins alike.

    Args:
        prompt: the system prompt.
        script: the script that the model plays.
        ask: see :data:`Ask`.
    """

    def __init__(self, prompt: str, script: UserScript, ask: Ask) -> None:
        self.script, self._ask = script, ask
        self.messages: list[dict[str, Any]] = [
            {"role": "system", "content": prompt},
            {"role": "user", "content": "Hello, what can I do for you?"},
            {"role": "assistant", "content": self.opening()},
        ]

    def opening(self) -> str:
        """Return the first message, that of the script."""
        return f"{self.script.opening} {self.script.wishes[0].says}".strip()

    def answered(self) -> dict[str, Any] | UserFault:
        """Return the model's next message. A server that does not answer is no fault of the agent."""
        try:
            return self._ask([*self.messages])
        except Exception as error:
            return UserFault("no answer", f"the user's model gives no answer: {error}"[:300])

    def get_state(self) -> dict[str, Any]:
        """Return the conversation so far, without what follows from the task."""
        return {"messages": [dict(message) for message in self.messages[3:]]}

    def set_state(self, state: dict[str, Any]) -> None:
        """Remember a conversation.

        Raises:
            ValueError, KeyError, TypeError: if it is none.
        """
        messages = [{"role": str(one["role"]), "content": str(one["content"])} for one in state["messages"]]
        if any(message["role"] not in ("user", "assistant") for message in messages):
            raise ValueError("a conversation has the roles user and assistant")
        self.messages = [*self.messages[:3], *messages]


def about_slot(slot: Slot) -> str:
    """Return the line of a prompt for what a user knows."""
    if slot.wrong:
        return f"Asked for the {slot.name}, at first you are mistaken: {slot.wrong} Asked again: {slot.says}"
    if slot.after_change:
        return f"Asked for the {slot.name}: {slot.says} After you have changed your mind: {slot.after_change}"
    return f"Asked for the {slot.name}: {slot.says}"
