"""An episode as chat messages: :func:`conversation`."""

from __future__ import annotations

from typing import Any

from gem_rollout.trajectory.record import Trajectory

__all__ = ["Message", "conversation"]

Message = dict[str, Any]


def conversation(trajectory: Trajectory, *, final: bool = False) -> list[Message]:
    """Return what was said in an episode of one agent, as OpenAI-style chat messages.

    Each observation is a ``user`` message and each action an ``assistant`` message, with the model's
    ``reasoning_content`` if it was recorded. Where a wrapper shows the whole history, it appears once: of a list of
    messages the new ones are taken, of a text that repeats the one before the rest. A history that a wrapper rewrote
    begins anew, so the list then holds the last prompt and what came after it.

    Args:
        trajectory: the episode.
        final: whether the observation after the last action is a message too.
    """
    messages: list[Message] = []
    seen: Any = None
    action: Any = None
    for turn in trajectory.transitions:
        messages = _with_observation(messages, seen, action, turn.observation)
        messages.append(_assistant(turn.action, turn.reasoning))
        seen, action = turn.observation, turn.action
    if final and trajectory.final_observation is not None:
        messages = _with_observation(messages, seen, action, trajectory.final_observation)
    return messages


def _with_observation(messages: list[Message], seen: Any, action: Any, observation: Any) -> list[Message]:
    """Return the messages and what an observation adds to them."""
    if _is_history(observation):
        if _is_history(seen) and observation[: len(seen)] == seen:
            added = observation[len(seen) :]
            # The wrapper's own copy of the action lacks what was recorded beside it, such as the reasoning.
            if added and added[0].get("role") == "assistant":
                added = added[1:]
            return messages + [dict(message) for message in added]
        return [dict(message) for message in observation]
    text = observation
    if isinstance(observation, str) and isinstance(seen, str) and seen and observation.startswith(seen):
        text = observation[len(seen) :]
        said = action if isinstance(action, str) else ""
        before, found, after = text.partition(said) if said else ("", "", text)
        if found and not before.strip():
            text = after
        text = text.lstrip("\n")
    return [*messages, {"role": "user", "content": text}]


def _assistant(action: Any, reasoning: str | None) -> Message:
    message = {"role": "assistant", **action} if isinstance(action, dict) else {"role": "assistant", "content": action}
    if reasoning is not None and "reasoning_content" not in message:
        message["reasoning_content"] = reasoning
    return message


def _is_history(observation: Any) -> bool:
    return (
        isinstance(observation, list)
        and bool(observation)
        and all(isinstance(one, dict) and "role" in one for one in observation)
    )
