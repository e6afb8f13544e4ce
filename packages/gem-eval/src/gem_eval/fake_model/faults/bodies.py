"""Changes of an answer's body that kinds of faults share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gem_eval.fake_model.model_request import ModelRequest

__all__ = ["AlterBody", "Body", "in_messages"]

Body = dict[str, Any]
AlterBody = Callable[[Body, ModelRequest], Any]


def in_messages(change: Callable[[dict[str, Any]], None]) -> AlterBody:
    """Change the message of every choice."""

    def alter(body: Body, request: ModelRequest) -> Body:
        for choice in body.get("choices", ()):
            if isinstance(choice.get("message"), dict):
                change(choice["message"])
        return body

    return alter
