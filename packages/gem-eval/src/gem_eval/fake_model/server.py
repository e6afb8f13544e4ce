"""The server: from a connection's request to the steps of its reply."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import orjson

from gem.arguments import integer
from gem.errors import ArgumentError
from gem_eval.clients.session import SESSION_FIELD
from gem_eval.fake_model.chat_endpoint import CREATED
from gem_eval.fake_model.connection import ConnectionEnd, HttpConnection, HttpReply, HttpRequest, Pause, Step
from gem_eval.fake_model.dialects import Dialect, dialect
from gem_eval.fake_model.endpoints import MODEL_PATHS, TOKEN_PATHS
from gem_eval.fake_model.errors import error_reply
from gem_eval.fake_model.faults.catalogue import PlannedFault, choose, planned
from gem_eval.fake_model.faults.kinds import FaultKind, FaultSettings
from gem_eval.fake_model.latency import Latency
from gem_eval.fake_model.model_request import ModelAnswer, ModelRequest, UnusableRequest
from gem_eval.fake_model.policies import AnswerMaker, answer_maker, as_answer
from gem_eval.fake_model.prefix_cache import ReplicaCaches
from gem_eval.fake_model.sampling import sample
from gem_eval.fake_model.serialization import parsed, written
from gem_eval.fake_model.statistics import Continuations, ServerCounts

__all__ = ["FakeModel"]


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
    replicas: int = 1
    """Prefix caches behind a router that knows ``X-Session-Id`` and ``prompt_cache_key``, as usage tells of them."""
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
    faults: Sequence[str | PlannedFault] = ()
    """What goes wrong, as :func:`gem_eval.fake_model.faults.catalogue.planned` reads it."""
    fault_settings: FaultSettings = field(default_factory=FaultSettings)
    counts: ServerCounts = field(default_factory=ServerCounts, init=False)
    continuations: Continuations = field(default_factory=Continuations, init=False)

    def __post_init__(self) -> None:
        self._dialect: Dialect = dialect(self.dialect)
        self._answer = answer_maker(self.policy)
        if self.requests_per_second is not None and not self.requests_per_second > 0:
            raise ArgumentError(f"requests_per_second must be above 0, got {self.requests_per_second!r}")
        self._caches = ReplicaCaches(integer("replicas", self.replicas, minimum=1))
        self._endpoints = MODEL_PATHS[self.dialect]
        self._plans = [planned(fault) for fault in self.faults]
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
        await self.closed()

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

    async def closed(self) -> None:
        """Wait until every connection is gone, after :meth:`stop`."""
        await asyncio.sleep(0)  # connections that were just accepted appear
        while self._connections:
            self.stop()
            await asyncio.sleep(0)

    def stats(self) -> dict[str, Any]:
        """Return all counts, as ``/stats`` does."""
        counts = {**self.counts.to_dict(), "waiting": len(self._waiting)}
        return {**counts, "prompts": self.continuations.to_dict(), "open": len(self._connections)}

    def _connected(self) -> HttpConnection:
        self.counts.connections += 1
        return HttpConnection(self._handle, self._connections)

    def _handle(self, connection: HttpConnection, http: HttpRequest) -> None:
        http.path = http.path.partition("?")[0].rstrip("/") or "/"
        known = http.path in self._endpoints
        self.counts.requests[http.path if known or http.path in _PLAIN_PATHS else "other"] += 1
        refusal = self._refusal(http) if known else self._plain(http)
        if refusal is not None:
            self.counts.statuses[refusal.status] += 1
            connection.play(refusal.steps())
        elif self.concurrency is not None and self.counts.in_flight >= self.concurrency:
            if self.queue is not None and len(self._waiting) >= self.queue:
                self.counts.statuses[503] += 1
                connection.play(error_reply(self._dialect, "The request queue is full.", 503).steps())
            else:
                self.counts.queued += 1
                self._waiting.append((connection, http))
        else:
            self._serve(connection, http)

    def _refusal(self, http: HttpRequest) -> HttpReply | None:
        if http.method != "POST":
            return error_reply(self._dialect, "Method Not Allowed", 405)
        if self.api_key is not None and http.headers.get("authorization") != f"Bearer {self.api_key}":
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
        self.counts.served += 1
        planned_reply = self._reply(http)
        self.counts.statuses[planned_reply.status] += 1
        self.counts.seconds += planned_reply.seconds
        steps = planned_reply.steps
        if planned_reply.seconds > 0:
            steps.insert(0, Pause(planned_reply.seconds))
        connection.play(steps, self._died if planned_reply.deadly else self._served)

    def _served(self) -> None:
        self.counts.in_flight -= 1
        while self._waiting:
            connection, request = self._waiting.popleft()
            if not connection.lost:
                # Not at once: instant answers would nest as deep as the queue.
                asyncio.get_running_loop().call_soon(self._serve, connection, request)
                return

    def _died(self) -> None:
        self.counts.in_flight -= 1
        asyncio.get_running_loop().call_soon(self.stop)

    def _reply(self, http: HttpRequest) -> _PlannedReply:
        endpoint = self._endpoints[http.path]
        try:
            body = parsed(http.body)
            key, repeat = self._key(http.body)
            request = endpoint.read(body, self._dialect)
            request.key = key
            self._check_context(request)
            fault = self._fault(request, repeat)
            if fault is not None and fault.refuse is not None:
                reply = fault.refuse(request, self.fault_settings)
                steps = reply.steps()
                if fault.deadly:
                    steps.append(ConnectionEnd.CLOSE)
                return _PlannedReply(steps, reply.status, self._seconds(request, 0), fault.deadly)
            self.continuations.check(request)
            replica = self._caches.replica(_session(http, request))
            request.cached_tokens = self._caches.cached_tokens(replica, request.prompt_ids)
            answers = [self._sampled(request, fault) for _ in range(request.choices)]
        except UnusableRequest as refused:
            reply = error_reply(self._dialect, str(refused), refused.status, refused.param)
            return _PlannedReply(reply.steps(), reply.status)
        self.continuations.remember(request, answers)
        for answer in answers:
            self._caches.remember(replica, [*request.prompt_ids, *answer.token_ids])
        sampled = sum(len(answer.token_ids) for answer in answers)
        self.counts.prompt_tokens += len(request.prompt_ids)
        self.counts.cached_tokens += request.cached_tokens
        self.counts.completion_tokens += sampled
        written_body = endpoint.write(request, answers, self._dialect, self.model)
        steps = written(written_body, request, endpoint, fault, self.fault_settings)
        return _PlannedReply(steps, 200, self._seconds(request, sampled))

    def _seconds(self, request: ModelRequest, tokens: int) -> float:
        return 0.0 if self.latency.none else self.latency.of(request.identity, tokens)

    def _key(self, body: bytes) -> tuple[bytes, int]:
        """Return what everything that is drawn depends on, and how often the same body came before."""
        digest = hashlib.blake2b(body, digest_size=16, key=self.seed.to_bytes(8, "big", signed=True)).digest()
        repeat = self._repeats.get(digest, 0)
        key = digest if not repeat else hashlib.blake2b(digest, digest_size=16, salt=repeat.to_bytes(8, "big")).digest()
        self._repeats[digest] = repeat + 1
        if len(self._repeats) > _REMEMBERED:
            del self._repeats[next(iter(self._repeats))]
        return key, repeat

    def _fault(self, request: ModelRequest, repeat: int) -> FaultKind | None:
        if not self._plans:
            return None
        for kind in choose(self._plans, request, self.counts.served, repeat):
            if kind.need is None or kind.need.met(request):
                self.counts.faults[kind.name] += 1
                return kind
        return None

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

    def _sampled(self, request: ModelRequest, fault: FaultKind | None) -> ModelAnswer:
        try:
            answer = as_answer(self._answer(request))
        except UnusableRequest:
            raise
        except Exception as error:
            raise UnusableRequest(f"the scripted policy failed: {error!r}", 500) from error
        if answer.reasoning is None and self.reasoning:
            answer.reasoning = self.reasoning
        if fault is not None and fault.alter_answer is not None:
            fault.alter_answer(answer, request)
        return sample(answer, request, least_tokens=self.least_tokens, recode=self.recode)

    def _metrics(self, gauges: tuple[str, str]) -> HttpReply:
        values = zip(gauges, (self.counts.in_flight, len(self._waiting)), strict=True)
        lines = [f'# TYPE {name} gauge\n{name}{{model_name="{self.model}"}} {value:.1f}\n' for name, value in values]
        return HttpReply(body="".join(lines).encode(), headers=_TEXT_HEADERS)

    def _plain(self, http: HttpRequest) -> HttpReply:
        """Return the reply of a path at which no model answers."""
        token_endpoint = TOKEN_PATHS.get(self.dialect, {}).get(http.path)
        if token_endpoint is not None and http.method == "POST":
            try:
                return HttpReply(body=orjson.dumps(token_endpoint(parsed(http.body), self._dialect)))
            except UnusableRequest as refused:
                return error_reply(self._dialect, str(refused), refused.status, refused.param)
        if http.path == "/health":
            return HttpReply(body=b"" if self.dialect == "vllm" else b'{"status":"ok"}')
        if http.path == "/v1/models":
            entry: dict[str, Any] = {"id": self.model, "object": "model", "created": CREATED, "owned_by": self.dialect}
            if self.max_context is not None:
                entry["max_model_len"] = self.max_context
            return HttpReply(body=orjson.dumps({"object": "list", "data": [entry]}))
        if http.path == "/metrics" and self._dialect.gauges is not None:
            return self._metrics(self._dialect.gauges)
        if http.path == "/stats":
            return HttpReply(body=json.dumps(self.stats()).encode())
        return error_reply(self._dialect, "Not Found", 404)


_TEXT_HEADERS = (("Content-Type", "text/plain; version=0.0.4; charset=utf-8"),)


def _session(http: HttpRequest, request: ModelRequest) -> str | None:
    session = http.headers.get("x-session-id") or request.body.get(SESSION_FIELD)
    return session if isinstance(session, str) and session else None


_REMEMBERED = 1_000_000
"""Bodies of which it is known how often they came."""
_PLAIN_PATHS = frozenset({"/v1/models", "/health", "/metrics", "/stats"}.union(*TOKEN_PATHS.values()))


@dataclass(slots=True)
class _PlannedReply:
    steps: list[Step]
    status: int
    seconds: float = 0.0
    deadly: bool = False
