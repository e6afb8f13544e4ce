"""Programs that echo what a model said in every way that agent programs do, and a model that samples odd tokens."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Sequence
from typing import Any

from gem_eval.clients import Completion, Sampling
from gem_eval.clients.base import Message
from gem_gateway.calls import ModelCall
from gem_gateway.lineages.recorder import LineageRecorder
from gem_rollout.chat_templates.files import ChatTemplateFile

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"Does {name}.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}, "depth": {"type": "integer"}}},
        },
    }
    for name in ("look", "move")
]

_SPECIAL = re.compile(r"<[|｜][^<>]{1,40}[|｜]>|\[/?[A-Z_]{3,20}\]|</?[a-z_]{2,16}>", re.IGNORECASE)
_PAIRS = frozenset(("th", "he", "in", "er", "an", "ou", "ll", "lo", "ok", '{"', '":', "\n\n", ". ", "oo", "wo"))


class PairCodec(ChatTemplateFile):
    """A template with a tokenizer that knows some pairs of characters, so that many ids have the same text."""

    def __init__(self, template: str, special: dict[str, str] | None = None) -> None:
        super().__init__(template, special or {})
        self._pieces: list[str] = []
        self._ids: dict[str, int] = {}
        self.end = self._end_of_turn()

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        return [self.id_of(piece) for piece in self._split(text)]

    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool) -> str:
        pieces = (self._pieces[token] for token in token_ids)
        return "".join(piece for piece in pieces if not (skip_special_tokens and _SPECIAL.fullmatch(piece)))

    def id_of(self, piece: str) -> int:
        if piece not in self._ids:
            self._ids[piece] = len(self._pieces)
            self._pieces.append(piece)
        return self._ids[piece]

    def _split(self, text: str) -> list[str]:
        pieces, place = [], 0
        while place < len(text):
            special = _SPECIAL.match(text, place)
            size = len(special[0]) if special else 2 if text[place : place + 2] in _PAIRS else 1
            pieces.append(text[place : place + size])
            place += size
        return pieces

    def _end_of_turn(self) -> int | None:
        """Return the special token that the template puts after an answer."""
        talk = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "918273"}]
        after = str(self.apply_chat_template(talk, tokenize=False, add_generation_prompt=False)).partition("918273")[2]
        found = _SPECIAL.search(after)
        return self.id_of(found[0]) if found else None


class OddModel:
    """Samples answers in tokens that their text would not be given, and writes down what it was asked and said."""

    model = "odd"

    def __init__(
        self, codec: PairCodec, rng: random.Random, *, tells: bool = True, parallel_calls: bool = True
    ) -> None:
        self.codec = codec
        self.rng = rng
        self.tells = tells
        """Whether it says which ids it took."""
        self.log: list[tuple[list[int], list[int], list[float]]] = []
        self.most_calls = 2 if parallel_calls else 1
        self._said: dict[str, str] = {}
        self.hold: asyncio.Event | None = None
        """Answers wait for it."""

    async def complete(self, prompt: str | list[int], *, sampling: Sampling | None = None) -> Completion:
        assert isinstance(prompt, list)
        if self.hold is not None:
            await self.hold.wait()
        pieces = self._pieces_of_answer(str(prompt))
        text = "".join(pieces)
        ids = [self.codec.id_of(piece) for piece in pieces]
        if self.codec.end is not None and self.rng.random() < 0.8:
            ids.append(self.codec.end)
        logprobs = [-0.01 * place for place in range(len(ids))]
        self.log.append((list(prompt), list(ids), list(logprobs)))
        reasoning, _, said = text.rpartition("</think>")
        completion = Completion({"role": "assistant", "content": said}, said, reasoning.removeprefix("<think>") or None)
        completion.token_ids, completion.logprobs = ids, logprobs
        completion.prompt_token_ids = list(prompt) if self.tells else None
        completion.finish_reason = "stop"
        return completion

    def _pieces_of_answer(self, prompt: str) -> list[str]:
        known = self._said.get(prompt)
        text = known if known is not None and self.rng.random() < 0.6 else self._text()
        self._said[prompt] = text
        return self.codec._split(text) if self.rng.random() < 0.3 else self._in_odd_pieces(text)

    def _text(self) -> str:
        rng = self.rng
        said = rng.choice(
            ("the word", "  look at that\n", "hello there, all is well. ", "", "ok", f"number {rng.random()}")
        )
        if rng.random() < 0.4:
            said = f"<think>then I look\n{rng.randrange(9)}</think>\n\n{said}"
        for _ in range(min(rng.choice((0, 0, 1, 1, 2)), self.most_calls)):
            written = json.dumps(
                {"path": rng.choice(("/a", "é")), "depth": rng.randrange(3)}, indent=rng.choice((None, 1))
            )
            said += f'<tool_call>{{"name": "{rng.choice(("look", "move"))}", "arguments": {written}}}</tool_call>'
        return said

    def _in_odd_pieces(self, text: str) -> list[str]:
        return [piece for part in self.codec._split(text) for piece in ([part] if _SPECIAL.fullmatch(part) else part)]


class DifficultProgram:
    """Plays a conversation, and does to it what agent programs do; knows which call each of its requests continues.

    Attributes:
        truth: for each call the index of the one that it continues; None where it begins anew, or where the program
            changed what was said.
        kinds: for each call what the program did.
    """

    def __init__(self, recorder: LineageRecorder, model: OddModel, rng: random.Random) -> None:
        self.recorder, self.model, self.rng = recorder, model, rng
        self.renumbers = rng.random() < 0.3
        """Whether each request has new ids for all calls."""
        self.truth: list[int | None] = []
        self.kinds: list[str] = []
        self.states: list[tuple[list[Message], list[dict[str, Any]] | None, int | None]] = []

    async def play(self, steps: int) -> None:
        talk, parent = self._opening(), None
        tools: list[dict[str, Any]] | None = TOOLS
        kind = "opening"
        for _ in range(steps):
            talk, parent = await self._ask(talk, tools, parent, kind)
            kind = self.rng.choice(
                ("on",) * 6 + ("retry", "branch", "compact", "edit question", "edit answer", "side", "subagent", "cut")
            )
            self.states.append((talk, tools, parent))
            if kind == "branch":
                talk, tools, parent = self.rng.choice(self.states)
                talk = self._answered(talk)
            elif kind == "compact":
                talk, parent = [talk[0], {"role": "user", "content": f"So far: {len(talk)} messages. Go on."}], None
            elif kind == "edit question":
                place = next(place for place, one in enumerate(talk) if one["role"] == "user")
                talk = [*talk[:place], {"role": "user", "content": f"edited {self.rng.random()}"}, *talk[place + 1 :]]
                talk, parent = self._answered(talk), None
            elif kind == "edit answer":
                talk = [*talk[:-1], {**talk[-1], "content": f"{talk[-1].get('content') or ''} or not"}]
                talk, parent = self._answered(talk), None
            else:
                talk = self._answered(talk)
            if kind == "side":
                await self._ask([{"role": "user", "content": f"A title for: {talk[1]['content']}"}], None, None, "side")
            elif kind == "subagent":
                await self._ask([{"role": "system", "content": "You help."}, talk[1]], TOOLS[:1], None, "subagent")
            elif kind == "retry":
                other, index = await self._ask(talk, tools, parent, "retry")
                self.states.append((other, tools, index))
            elif kind == "cut":
                await self._cut_off(talk, tools, parent)

    def _opening(self) -> list[Message]:
        return [
            {"role": "system", "content": "You look and move."},
            {"role": "user", "content": f"Find the word {self.rng.randrange(3)}."},
        ]

    async def _ask(
        self, talk: list[Message], tools: list[dict[str, Any]] | None, parent: int | None, kind: str
    ) -> tuple[list[Message], int]:
        """Send a request; return the conversation with the answer as this program echoes it, and the call's index."""
        self.truth.append(parent)
        self.kinds.append(kind)
        sent = json.dumps(talk)
        if self.renumbers:
            fresh = f"{self.rng.randrange(10**6)}"
            for place, identifier in enumerate(dict.fromkeys(re.findall(r'"(?:tool_call_)?id": ("[^"]*")', sent))):
                sent = sent.replace(identifier, f'"{fresh}-{place}"')
        call = ModelCall(json.loads(sent), tools, dialect="chat")
        completion = await self.recorder.answer(call)
        return [*talk, self._echo(completion.message)], len(self.recorder.tree.calls) - 1

    async def _cut_off(self, talk: list[Message], tools: list[dict[str, Any]] | None, parent: int | None) -> None:
        """Go away before the answer comes."""
        self.truth.append(parent)
        self.kinds.append("cut")
        self.model.hold = asyncio.Event()
        running = asyncio.ensure_future(self.recorder.answer(ModelCall(list(talk), tools)))
        while not self.model.hold._waiters:
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait({running})
        self.model.hold = None

    def _echo(self, message: Message) -> Message:
        rng, said = self.rng, dict(message)
        for name in ("reasoning", "reasoning_content"):
            if rng.random() < 0.5:
                said.pop(name, None)
        text = said.get("content") or ""
        said["content"] = rng.choice((text, text.strip(), f"{text}\n", [{"type": "text", "text": text}]))
        if not text:
            said["content"] = rng.choice((None, "", []))
            if rng.random() < 0.3:
                del said["content"]
        calls = json.loads(json.dumps(said.get("tool_calls") or []))
        renames = rng.random() < 0.4
        for place, call in enumerate(calls):
            function = call["function"]
            style: dict[str, Any] = rng.choice(({}, {"indent": 2}, {"sort_keys": True}, {"separators": (",", ":")}))
            function["arguments"] = json.dumps(json.loads(function["arguments"]), **style)
            if renames:
                call["id"] = f"own{rng.randrange(10**6)}n{place}"
        if calls:
            said["tool_calls"] = [dict(reversed(call.items())) for call in calls]
        return dict(reversed(said.items())) if rng.random() < 0.5 else said

    def _answered(self, talk: list[Message]) -> list[Message]:
        """Return a conversation that ends with an answer with what comes next."""
        calls = talk[-1].get("tool_calls") or []
        results = [
            {"role": "tool", "tool_call_id": call["id"], "content": f"there is {self.rng.randrange(5)} of it"}
            for call in calls
        ]
        if not results or self.rng.random() < 0.1:
            results.append({"role": "user", "content": f"go on, all right? {self.rng.randrange(3)}"})
        return [*talk, *results]
