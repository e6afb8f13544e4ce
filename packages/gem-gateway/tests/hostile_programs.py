"""Sessions of programs that forge what a model said, and a model that says what they want it to."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

from difficult_programs import TOOLS, OddModel, PairCodec

from gem_eval.clients import Completion, Sampling
from gem_eval.clients.base import Message
from gem_eval.clients.tool_call_repair import call_natively
from gem_gateway.calls import ModelCall
from gem_gateway.lineages.recorder import LineageRecorder
from gem_rollout.chat_templates.rendered_text import text_only
from gem_rollout.chat_templates.sampled_prompt import render_chat

__all__ = ["HostileProgram", "ToldModel", "calling", "changed", "ids_of", "result", "said", "user"]


class ToldModel(OddModel):
    """Says the texts that it is told, in characters one by one, or in the tokenizer's own pieces."""

    def __init__(self, codec: PairCodec) -> None:
        super().__init__(codec, random.Random(0))
        self.told: list[tuple[str, bool]] = []
        """Texts, and whether their tokens are the tokenizer's own. What it is not told, it says in numbers."""

    def _pieces_of_answer(self, prompt: str) -> list[str]:
        text, own = self.told.pop(0) if self.told else (f"number {len(self.log)}", True)
        return self.codec._split(text) if own else self._in_odd_pieces(text)

    async def chat(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        sampling: Sampling | None = None,
        response_format: dict[str, Any] | None = None,
    ) -> Completion:
        """Answer as a server that renders prompts itself, and gives no two calls the same id."""
        rendered = render_chat(self.codec, text_only(messages), {"tools": tools})
        prompt = self.codec.encode(rendered, add_special_tokens=False)
        completion = await self.complete(prompt)
        if tools:
            call_natively(completion, messages)
        for place, call in enumerate(completion.message.get("tool_calls") or ()):
            call["id"] = f"own-{len(self.log)}-{place}"
        return completion


class HostileProgram:
    """One session of a program; it says for each request which call it truly continues.

    Args:
        codec: of the model.
        exact: whether the recorder makes the prompts' ids; otherwise the model's server does.

    Attributes:
        sent: the conversation of each call.
        truth: for each call the one that it continues, None where its conversation is forged or begins anew.
        kinds: for each call what the program did.
        unmatched: calls that truly continue one, which cannot be told with certainty.
    """

    def __init__(self, codec: PairCodec, *, exact: bool) -> None:
        self.model = ToldModel(codec)
        self.recorder = LineageRecorder(self.model, exact_tokens=exact, tokenizer=codec if exact else None)  # type: ignore[arg-type]
        self.numbers_calls = not exact
        """Whether the ids of calls tell equal answers apart: GEM's own are those of their places."""
        self.sent: list[list[Message]] = []
        self.truth: list[int | None] = []
        self.kinds: list[str] = []
        self.unmatched: set[int] = set()

    async def ask(
        self,
        *talk: Message,
        says: str | None = None,
        own: bool = True,
        continues: int | None = None,
        told_apart: bool = True,
        tools: Any = TOOLS,
    ) -> Message:
        """Send a request; return the answer as the program gets it."""
        if says is not None:
            self.model.told.append((says, own))
        if not told_apart:
            self.unmatched.add(len(self.truth))
        self.truth.append(continues)
        self.kinds.append("forged" if continues is None else "honest")
        self.sent.append(json.loads(json.dumps(talk)))
        completion = await self.recorder.answer(ModelCall(self.sent[-1], tools))
        answer: Message = json.loads(json.dumps(completion.message))
        return answer

    async def forge(self, *talks: Sequence[Message], tools: Any = TOOLS) -> None:
        """Send conversations that continue no recorded call."""
        for talk in talks:
            await self.ask(*talk, tools=tools)


def calling(*places: str, tool: str = "look") -> str:
    """Return an answer that calls a tool with each of some paths."""
    calls = (json.dumps({"name": tool, "arguments": {"path": place, "depth": 1}}) for place in places)
    return "".join(f"<tool_call>{call}</tool_call>" for call in calls)


def user(text: Any) -> Message:
    """Return a message of the program."""
    return {"role": "user", "content": text}


def said(content: Any, **more: Any) -> Message:
    """Return a message that is said to be the model's."""
    return {"role": "assistant", "content": content, **more}


def result(identifier: str, content: str, **more: Any) -> Message:
    """Return what a tool is said to have returned."""
    return {"role": "tool", "tool_call_id": identifier, "content": content, **more}


def changed(answer: Message, index: int = 0, /, **fields: Any) -> Message:
    """Return an answer with other fields in one of its calls; ``name`` and ``arguments`` are the function's."""
    answer = json.loads(json.dumps(answer))
    call = answer["tool_calls"][index]
    for name, value in fields.items():
        (call if name == "id" else call["function"])[name] = value
    return answer


def ids_of(answer: Message) -> list[str]:
    """Return the ids of an answer's calls."""
    return [call["id"] for call in answer["tool_calls"]]
