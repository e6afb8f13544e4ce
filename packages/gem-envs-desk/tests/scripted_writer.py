"""A scripted model for the command: it designs the bicycle shop, and phrases tasks in a few words of its own."""

from __future__ import annotations

import json
from typing import Any

from synthesis_documents import bicycles


def answer(messages: list[dict[str, Any]]) -> str:
    """Return the tools for a request to design some, or a request in other words."""
    asked = str(messages[-1]["content"])
    if asked.startswith("Design"):
        return f"Here they are:\n```json\n{json.dumps(bicycles())}\n```"
    return "I would like this. " + asked.split("\n\n", 1)[1].replace("Please", "Kindly")
