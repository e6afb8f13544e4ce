"""Environments that some action breaks."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from gem.text import action_text, extract_last_boxed_answer
from planted_envs.healthy import Product, Sums

Result = tuple[Any, Any, Any, Any, Any]


class RaisesOnNone(Sums):
    """It raises for None, and for everything else that has no length."""

    def _read(self, action: Any) -> int | None:
        return super()._read(action) if len(action) else None


class RaisesOnBytes(Sums):
    """It raises for bytes."""

    def _read(self, action: Any) -> int | None:
        found = re.findall(r"\\boxed\{(\d{1,9})\}", action if isinstance(action, bytes) else action_text(action) or "")
        return int(found[-1]) if found else None


class RaisesOnSurrogates(Sums):
    """It raises for text that cannot be encoded."""

    def _read(self, action: Any) -> int | None:
        (action_text(action) or "").encode()
        return super()._read(action)


class RaisesOnToolCalls(Sums):
    """It raises for a message with a tool call that is not well-formed."""

    def _read(self, action: Any) -> int | None:
        if isinstance(action, dict) and isinstance(action.get("tool_calls"), list):
            json.loads(action["tool_calls"][0]["function"]["arguments"])
        return super()._read(action)


class RaisesOnLongNumbers(Sums):
    """It raises for a number of more digits than Python reads."""

    def _read(self, action: Any) -> int | None:
        found = re.findall(r"\\boxed\{([0-9]+)\}", action_text(action) or "")
        return int(found[-1]) if found else None


class RaisesOnForeignDigits(Sums):
    """It raises for characters that are digits to str.isdigit and no number to int."""

    def _read(self, action: Any) -> int | None:
        found = re.findall(r"\\boxed\{(.{1,9})\}", action_text(action) or "")
        return int(found[-1]) if found and found[-1].isdigit() else None


class EvaluatesAnswers(Sums):
    """It evaluates what stands in the box as Python, and answers no more than errors."""

    def _read(self, action: Any) -> int | None:
        try:
            return int(eval(extract_last_boxed_answer(action) or "", {}))
        except Exception:
            return None


class ExitsOnEmpty(Sums):
    """It ends the process when the agent says nothing."""

    def _read(self, action: Any) -> int | None:
        return super()._read(action) if action else sys.exit("no answer")


class EchoesSurrogates(Sums):
    """It shows a malformed action again as it came, lone surrogates included."""

    def step(self, action: Any) -> Result:
        observation, *rest, info = super().step(action)
        if info["action_status"] == "malformed":
            observation = f"{observation} You said: {action_text(action)}"
        return observation, *rest, info


class ParsesQuadratically(Product):
    r"""It looks for a box with a pattern that begins anew at every opening brace."""

    def _read(self, action: Any) -> int | None:
        found = re.search(r"\\boxed\{[^}]*\}\s*$", action_text(action) or "")
        return super()._read(action) if found else None


class RecursesOnBraces(Product):
    """It strips braces one by one with a function that calls itself."""

    def _read(self, action: Any) -> int | None:
        text = action_text(action) or ""
        return super()._read(action) if _is_flat(text) else None


def _is_flat(text: str) -> bool:
    return _is_flat(text[1:]) if text.startswith("{") else True
