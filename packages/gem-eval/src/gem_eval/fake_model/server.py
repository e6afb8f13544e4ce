"""The server: from a connection's request to the steps of its reply."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import deque
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import orjson

from gem.errors import ArgumentError
from gem_eval.fake_model.chat_endpoint import chat_answer, chat_events, read_chat
from gem_eval.fake_model.connection import STREAM_HEADERS, HttpConnection, HttpReply, HttpRequest, Pause, Step
from gem_eval.fake_model.dialects import Dialect, dialect
from gem_eval.fake_model.errors import error_reply
from gem_eval.fake_model.latency import Latency
from gem_eval.fake_model.model_request import ModelAnswer, ModelRequest, UnusableRequest
from gem_eval.fake_model.policies import AnswerMaker, answer_maker, as_answer
from gem_eval.fake_model.sampling import sample
from gem_eval.fake_model.statistics import Continuations, ServerCounts

__all__ = ["FakeModel"]

_CREATED = 1_750_000_000
"""Unix seconds of every answer: replies do not depend on the clock."""


@dataclass
class FakeModel:
    """An OpenAI-compatible model server with a scripted policy in the model's place.

    ::

        async with FakeModel("game:GuessTheNumber-v0-easy", latency=Latency(0.2)) as model:
            ...  # requests to model.url, such as f"{model.url}/chat/completions"

    It runs in the event loop that enters it. :class:`FakeModelThread` and :class:`FakeModelProcess` run one elsewhere.
    All that is drawn (latencies, faults, random answers) depends on ``seed`` and on the body of the request, and on how
    often the same body came before, so that a retry draws anew.
    """

    policy: str | AnswerMaker = "echo"
    """As in :func:`answer_maker`."""
    model: str = "fake-model"
    """The name in answers and in ``/v1/models``. Requests for other models are answered all the same."""
    dialect: str = "openai"
    """The server that this one imitates: openai, vllm, sglang, llamacpp or transformers."""
    host: str = "127.0.0.1"
    port: int = 0
    """0: any free one; afterwards the one in use."""
    seed: int = 0
    latency: Latency = field(default_factory=Latency)
    reasoning: str = ""
    """Reasoning that precedes every answer whose policy gives none."""
    least_tokens: int = 0
    """Answers are filled up to this number of tokens."""
    recode: bool = False
    """Sample token ids that differ from the tokenization of the same text."""
    max_context: int | None = None
    """Prompt and answer together, in tokens; what does not fit is refused."""
    concurrency: int | None = None
    """Requests answered at once; others wait."""
    queue: int | None = None
    """Requests that may wait; more are refused with 503. None for any number."""
    requests_per_second: float | None = None
    """More are refused with 429."""
    api_key: str | None = None
    """What requests must carry as ``Authorization: Bearer``."""
    counts: ServerCounts = field(default_factory=ServerCounts, init=False)
    continuations: Continuations = field(default_factory=Continuations, init=False)

    def __post_init__(self) -> None:
        self._dialect: Dialect = dialect(self.dialect)
        self._answer = answer_maker(self.policy)
        if self.requests_per_second is not None and not self.requests_per_second > 0:
            raise ArgumentError(f"requests_per_second must be above 0, got {self.requests_per_second!r}")
        self._connections: set[HttpConnection] = set()
        self._waiting: deque[tuple[HttpConnection, HttpRequest]] = deque()
        self._server: asyncio.Server | None = None
        self._repeats: dict[bytes, int] = {}
        self._allowance = self.requests_per_second or 0.0
        self._refilled = 0.0

    @property
    def url(self) -> str:
        """The base URL, as clients of OpenAI want it: ``http://host:port/v1``."""
        return f"{self.origin}/v1"

    @property
    def origin(self) -> str:
        """The URL without a path, below which the native endpoints are."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    async def __aenter__(self) -> FakeModel:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: if the address cannot be used.
        """
        loop = asyncio.get_running_loop()
        self._refilled = loop.time()
        self._server = await loop.create_server(self._connected, self.host, self.port, backlog=4096)
        self.port = self._server.sockets[0].getsockname()[1]

    def stop(self) -> None:
        """Stop listening and break off every connection, at once."""
        if self._server is not None:
            self._server.close()
            self._server = None
        self._waiting.clear()
        for connection in list(self._connections):
            connection.transport.abort()

    def stats(self) -> dict[str, Any]:
        """Return all counts, as ``/stats`` does."""
        return {**self.counts.to_dict(), "prompts": self.continuations.to_dict(), "open": len(self._connections)}

    def _connected(self) -> HttpConnection:
        self.counts.connections += 1
        return HttpConnection(self._handle, self._connections)

    def _handle(self, connection: HttpConnection, request: HttpRequest) -> None:
        path = request.path.partition("?")[0].rstrip("/") or "/"
        request.path = path
        self.counts.requests[path if path in _PATHS else "other"] += 1
        if path not in _ANSWERING:
            self._send(connection, self._plain(request))
            return
        refusal = self._refusal(request)
        if refusal is not None:
            self._send(connection, refusal)
        elif self.concurrency is not None and self.counts.in_flight >= self.concurrency:
            if self.queue is not None and len(self._waiting) >= self.queue:
                self._send(connection, error_reply(self._dialect, "The request queue is full.", 503))
            else:
                self.counts.queued += 1
                self._waiting.append((connection, request))
        else:
            self._serve(connection, request)

    def _refusal(self, request: HttpRequest) -> HttpReply | None:
        if request.method != "POST":
            return error_reply(self._dialect, "Method Not Allowed", 405)
        if self.api_key is not None and request.headers.get("authorization") != f"Bearer {self.api_key}":
            return error_reply(self._dialect, "Unauthorized", 401)
        rate = self.requests_per_second
        if rate is not None:
            now = asyncio.get_running_loop().time()
            self._allowance = min(max(rate, 1.0), self._allowance + (now - self._refilled) * rate)
            self._refilled = now
            if self._allowance < 1:
                wait = (1 - self._allowance) / rate
                headers = (("Retry-After", str(int(wait) + 1)), ("retry-after-ms", str(int(wait * 1000) + 1)))
                return error_reply(self._dialect, "Rate limit reached.", 429, headers=headers)
            self._allowance -= 1
        return None

    def _serve(self, connection: HttpConnection, http: HttpRequest) -> None:
        self.counts.in_flight += 1
        self.counts.most_in_flight = max(self.counts.most_in_flight, self.counts.in_flight)
        seconds, reply = self._reply(http)
        self.counts.statuses[reply.status] += 1
        steps = reply.steps()
        if seconds <= 0:
            connection.play(steps, self._served)
            return
        self.counts.seconds += seconds
        connection.play([Pause(seconds), *steps], self._served)

    def _served(self) -> None:
        self.counts.in_flight -= 1
        while self._waiting:
            connection, request = self._waiting.popleft()
            if not connection.lost:
                # Not at once: instant answers would nest as deep as the queue.
                asyncio.get_running_loop().call_soon(self._serve, connection, request)
                return

    def _reply(self, http: HttpRequest) -> tuple[float, HttpReply]:
        """Return the latency in seconds and the reply."""
        try:
            body = _parsed(http.body)
            key = self._key(http.body)
            request = self._read(http.path, body)
            request.key = key
            self._check_context(request)
            self.continuations.check(request)
            answers = [self._sampled(request) for _ in range(request.choices)]
        except UnusableRequest as refused:
            return 0.0, error_reply(self._dialect, str(refused), refused.status, refused.param)
        self.continuations.remember(request, answers)
        sampled = sum(len(answer.token_ids) for answer in answers)
        self.counts.prompt_tokens += len(request.prompt_ids)
        self.counts.completion_tokens += sampled
        seconds = 0.0 if self.latency.none else self.latency.draw(request.rng, sampled)
        return seconds, self._written(http.path, request, answers)

    def _key(self, body: bytes) -> bytes:
        digest = hashlib.blake2b(body, digest_size=16, key=self.seed.to_bytes(8, "big", signed=True)).digest()
        repeat = self._repeats[digest] = self._repeats.get(digest, -1) + 1
        return digest + repeat.to_bytes(8, "big")

    def _read(self, path: str, body: dict[str, Any]) -> ModelRequest:
        return read_chat(body, self._dialect)

    def _check_context(self, request: ModelRequest) -> None:
        if self.max_context is None:
            return
        used = len(request.prompt_ids)
        room = self.max_context - used
        if room < max(request.max_tokens or 1, 1):
            raise UnusableRequest(
                f"This model's maximum context length is {self.max_context} tokens. However, you requested "
                f"{request.max_tokens or 1} output tokens and your prompt contains {used} input tokens.",
                param="input_tokens",
            )
        if request.max_tokens is None:
            request.max_tokens = room

    def _sampled(self, request: ModelRequest) -> ModelAnswer:
        try:
            answer = as_answer(self._answer(request))
        except UnusableRequest:
            raise
        except Exception as error:
            raise UnusableRequest(f"the scripted policy failed: {error!r}", 500) from error
        if answer.reasoning is None and self.reasoning:
            answer.reasoning = self.reasoning
        return sample(answer, request, least_tokens=self.least_tokens, recode=self.recode)

    def _written(self, path: str, request: ModelRequest, answers: list[ModelAnswer]) -> HttpReply:
        identity = request.key.hex()[:24]
        body = chat_answer(request, answers, self._dialect, model=self.model, identity=identity, created=_CREATED)
        if not request.stream:
            return HttpReply(body=orjson.dumps(body), request_id=identity)
        events: list[Step] = [
            b"data: %b\n\n" % orjson.dumps(chunk) for chunk in chat_events(body, with_usage=request.usage_in_stream)
        ]
        events.append(b"data: [DONE]\n\n")
        return HttpReply(headers=STREAM_HEADERS, events=events, request_id=identity)

    def _plain(self, request: HttpRequest) -> HttpReply:
        if request.path in ("/health", "/v1/health", "/ping"):
            return HttpReply(body=b"" if self.dialect == "vllm" else b'{"status":"ok"}')
        if request.path in ("/v1/models", "/models"):
            entry: dict[str, Any] = {"id": self.model, "object": "model", "created": _CREATED, "owned_by": self.dialect}
            if self.max_context is not None:
                entry["max_model_len"] = self.max_context
            return HttpReply(body=orjson.dumps({"object": "list", "data": [entry]}))
        if request.path == "/stats":
            return HttpReply(body=json.dumps(self.stats()).encode())
        return error_reply(self._dialect, "Not Found", 404)

    def _send(self, connection: HttpConnection, reply: HttpReply) -> None:
        self.counts.statuses[reply.status] += 1
        connection.play(reply.steps())


_ANSWERING = frozenset({"/v1/chat/completions", "/chat/completions"})
_PATHS = _ANSWERING | {"/v1/models", "/models", "/health", "/v1/health", "/ping", "/stats"}


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(body)
    except ValueError:
        try:
            value = json.loads(body)  # which also reads lone surrogates and NaN
        except ValueError as error:
            raise UnusableRequest(f"the body is not JSON: {error}") from None
        except RecursionError:
            raise UnusableRequest("the body is nested too deeply") from None
    if not isinstance(value, dict):
        raise UnusableRequest("the body must be a JSON object")
    return value
