"""The client of an HTTP server with an OpenAI-compatible interface: :class:`EndpointClient`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import parse_qsl, quote

from gem.arguments import boolean, choice, integer, real, string
from gem.errors import ArgumentError
from gem_eval.clients.addresses import ServerAddress
from gem_eval.clients.answers import chat_answer, generate_answer, llamacpp_answer, text_answer
from gem_eval.clients.base import Completion, Message, Sampling
from gem_eval.clients.capabilities import Capabilities
from gem_eval.clients.errors import ContextOverflow, ModelError
from gem_eval.clients.gemini_dialect import gemini_answer, gemini_request
from gem_eval.clients.json_text import readable
from gem_eval.clients.messages_dialect import MESSAGES_VERSION, messages_answer, messages_request
from gem_eval.clients.pacing import RequestPacer
from gem_eval.clients.queue_watch import QueueWatch
from gem_eval.clients.reasoning import ThinkTags
from gem_eval.clients.request_fields import ID_FIELDS, generate_fields, llamacpp_fields, openai_fields
from gem_eval.clients.request_limit import RequestLimit
from gem_eval.clients.responses_dialect import responses_answer, responses_request
from gem_eval.clients.sender import RequestSender
from gem_eval.clients.server_tokenizer import server_prompt_ids
from gem_eval.clients.session import SESSION_FIELD, session_headers
from gem_eval.clients.tool_call_repair import sendable
from gem_eval.clients.transport import HttpTransport

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["WITHOUT", "EndpointClient", "EndpointProtocol", "key_variable"]

EndpointProtocol = Literal["auto", "chat", "completions", "gemini", "generate", "messages", "responses"]

_PROTOCOLS = get_args(EndpointProtocol)
_KEYS = {"gemini": "GEMINI_API_KEY", "messages": "ANTHROPIC_API_KEY"}
"""Protocol → the variable that holds its server's key, where it is not OpenAI's."""

_SERVERS = {"vllm": "vllm", "sglang": "sglang", "llamacpp": "llamacpp", "llama.cpp": "llamacpp"}
"""``owned_by`` in a list of models → the server."""

_SHORTEST_SECRET = 6
"""Characters below which a value of a header or a query is no secret."""

_MOST_MODELS = 10
"""How many models of a server a message names."""


class EndpointClient:
    """Calls a model server over HTTP: OpenAI's interface, and the native ones of SGLang and llama.cpp.

    Requests share one pool of connections, one limit on their number, and the pauses that the server asks for. A
    request that fails for a passing reason is repeated with growing delays (:mod:`gem_eval.clients.errors` says which).

    Args:
        base_url: with or without ``/v1``; user name and password in it become a header.
        model: None asks the server, and takes the only one that it has.
        api_key: None reads the environment variable ``OPENAI_API_KEY``; with ``messages``, ``ANTHROPIC_API_KEY``, and
            with ``gemini``, ``GEMINI_API_KEY``.
        protocol: what :class:`~gem_eval.clients.ModelPolicy` calls: ``chat`` (``auto`` as well), ``completions``
            (``/v1/completions``) or ``generate`` (``/generate`` of SGLang, ``/completion`` of llama.cpp). With
            ``messages`` (Anthropic's), ``responses`` (OpenAI's) or ``gemini`` (Google's), :meth:`chat` speaks that
            interface, in which some models do more, such as thinking between calls of tools.
        concurrency: most requests in flight.
        requests_per_minute: None for no limit.
        tokens_per_minute: of prompts and answers together; None for no limit.
        adaptive: whether the number of requests in flight begins low and follows what the server can take: the queue in
            the metrics of vLLM, SGLang and llama.cpp, and refusals for the rate, which always count.
        timeout: seconds for one request.
        connect_timeout: seconds for making a connection.
        retries: most repetitions of a request.
        retry_seconds: no repetition begins later than this after the first failure.
        first_delay: seconds before the first repetition, where the server names none; it doubles with each.
        token_ids: whether to ask for token ids: None asks servers whose list of models shows that they give them.
        think_tags: whether to split reasoning off the text; see :data:`gem_eval.clients.reasoning.ThinkTags`.
        stream: whether to ask for streamed answers, which costs CPU, keeps connections through proxies alive, and tells
            the time to the first token.
        affinity: whether requests name their session (:attr:`Sampling.session`), in headers that routers know and, in
            chats, as ``prompt_cache_key`` where the server takes it.
        idle_timeout: seconds without a byte after which a request fails; None for ``timeout`` alone. Without
            ``stream``, most servers send nothing before the whole answer.
        max_bytes: largest answer.
        headers: further headers of every request.
        trust_env: whether proxies come from the environment.
    """

    def __init__(
        self,
        base_url: str,
        model: str | None = None,
        *,
        api_key: str | None = None,
        protocol: EndpointProtocol = "auto",
        concurrency: int = 1024,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        adaptive: bool = False,
        timeout: float = 600.0,
        connect_timeout: float = 10.0,
        retries: int = 8,
        retry_seconds: float = 600.0,
        first_delay: float = 0.5,
        token_ids: bool | None = None,
        think_tags: ThinkTags = "auto",
        stream: bool = False,
        affinity: bool = True,
        idle_timeout: float | None = None,
        max_bytes: int = 256 * 2**20,
        headers: Mapping[str, str] | None = None,
        trust_env: bool = False,
    ) -> None:
        self._address = ServerAddress.parse(base_url)
        self.model = "" if model is None else string("model", model)
        self.protocol = choice("protocol", protocol, _PROTOCOLS)
        self.capabilities = Capabilities()
        self.pacer = RequestPacer(concurrency, requests_per_minute, tokens_per_minute, adaptive)
        self._think_tags = choice("think_tags", think_tags, ("auto", "always", "never"))
        self._ask_ids = token_ids
        self._stream = boolean("stream", stream)
        self._affinity = boolean("affinity", affinity)
        if self._stream and protocol in _DIALECTS:
            raise ArgumentError(f"stream=True is for chat and completions; leave it out with protocol={protocol!r}")
        key = os.environ.get(key_variable(protocol), "") if api_key is None else api_key
        bearer = f"Bearer {key.strip()}" if key.strip() and protocol != "gemini" else None  # there, for OAuth alone
        authorization = bearer or self._address.authorization
        if not (key.isascii() and key.strip().isprintable()):
            raise ArgumentError("api_key holds characters that no HTTP header can")
        secrets = [
            key.strip(),
            self._address.password,
            (authorization or "").partition(" ")[2],
            *(headers or {}).values(),
        ]
        secrets += [value for _, value in parse_qsl(self._address.query[1:])]
        secrets = [text for text in secrets if len(text) >= _SHORTEST_SECRET]
        transport = HttpTransport(
            {
                "Content-Type": "application/json",
                **({"Authorization": authorization} if authorization else {}),
                **(_messages_headers(key.strip()) if protocol == "messages" else {}),
                **({"x-goog-api-key": key.strip()} if protocol == "gemini" and key.strip() else {}),
                **(headers or {}),
            },
            timeout=real("timeout", timeout, minimum=0.001),
            connect_timeout=real("connect_timeout", connect_timeout, minimum=0.001),
            idle_timeout=None if idle_timeout is None else real("idle_timeout", idle_timeout, minimum=0.001),
            max_bytes=integer("max_bytes", max_bytes, minimum=1024),
            trust_env=trust_env,
        )
        self._transport = transport
        self._sender = RequestSender(
            transport,
            self.pacer,
            self.capabilities,
            retries=retries,
            retry_seconds=retry_seconds,
            first_delay=first_delay,
            secrets=secrets,
        )
        self._watch = QueueWatch(self._metrics, self.pacer, self._note_no_queue) if adaptive else None
        self._urls: dict[str, Any] = {}
        self._fields: dict[str, tuple[Sampling | None, dict[str, Any]]] = {}
        self._prepared = False
        self._preparing: asyncio.Future[None] | None = None

    @property
    def waiting(self) -> Mapping[str, int]:
        """What requests failed with that wait for their next attempt → how many they are."""
        return self._sender.waiting

    @property
    def limit(self) -> RequestLimit:
        """How many requests may be in flight at present."""
        return self.pacer.limit

    @property
    def base_url(self) -> str:
        """The address of the interface, without credentials."""
        return self._address.api

    def __repr__(self) -> str:
        return f"EndpointClient({self.base_url!r}, {self.model or None!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        if self._watch is not None:
            self._watch.end()
        await self._transport.close()

    async def models(self) -> list[str]:
        """Return the names of the server's models.

        Raises:
            ModelError: if it does not list them.
        """
        return [entry["id"] for entry in await self._list_models()]

    async def prepare(self) -> None:
        """Find out the model's name, if it was not given, and the kind of server; the first request does the same.

        Raises:
            ArgumentError: if the server has several models, or none, and none was named.
            ModelError: if no model was named, and the server does not list them.
        """
        if self._prepared:
            return
        if self._preparing is None:
            self._preparing = asyncio.ensure_future(self._prepare())
            self._preparing.add_done_callback(self._forget_preparing)
        await asyncio.shield(self._preparing)

    async def chat(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        sampling: Sampling | None = None,
        response_format: dict[str, Any] | None = None,
    ) -> Completion:
        """Return the model's next message, from ``/chat/completions``; see :meth:`ModelClient.chat`."""
        await self._ready()
        if self.protocol in _DIALECTS:
            return await self._chat_in_dialect(messages, tools, sampling, response_format)
        body = {"model": self.model, "messages": sendable(messages), **self._sampling_fields(sampling, "chat")}
        if tools:
            body["tools"] = tools
        if response_format is not None:
            body["response_format"] = response_format
        completion = await self._sender.send(
            self._url("/chat/completions"),
            body,
            lambda answer, headers: chat_answer(answer, headers, messages, self._think_tags, bool(tools)),
            headers=self._session_headers(sampling),
        )
        return self._noted(completion, sampling)

    async def _chat_in_dialect(
        self,
        messages: list[Message],
        tools: list[dict[str, Any]] | None,
        sampling: Sampling | None,
        response_format: dict[str, Any] | None,
    ) -> Completion:
        path, request, answered = _DIALECTS[self.protocol]
        body = request(self.model, messages, tools, sampling or Sampling(), response_format)
        if self.protocol == "responses" and self._affinity and sampling is not None and sampling.session is not None:
            body = {SESSION_FIELD: sampling.session, **body}
        completion = await self._sender.send(
            self._url(path.replace("MODEL", quote(self.model.removeprefix("models/")))),
            body,
            lambda answer, headers: answered(answer, headers, messages),
            headers=self._session_headers(sampling),
        )
        return self._noted(completion, sampling)

    async def complete(self, prompt: str | list[int], *, sampling: Sampling | None = None) -> Completion:
        """Return the continuation of a text or of token ids; see :meth:`ModelClient.complete`.

        With the protocol ``generate``, from the server's native endpoint; otherwise from ``/completions``.
        """
        await self._ready()
        tags, session = self._think_tags, self._session_headers(sampling)
        if self.protocol != "generate":
            body = {"model": self.model, "prompt": prompt, **self._sampling_fields(sampling, "completions")}
            completion = await self._sender.send(
                self._url("/completions"),
                body,
                lambda answer, headers: text_answer(answer, headers, tags),
                headers=session,
            )
        elif self.capabilities.server == "llamacpp":
            body = {"prompt": prompt, **self._sampling_fields(sampling, "llamacpp")}
            completion = await self._sender.send(
                self._url("/completion"),
                body,
                lambda answer, headers: llamacpp_answer(answer, headers, tags),
                headers=session,
            )
        else:
            given = {"text": prompt} if isinstance(prompt, str) else {"input_ids": prompt}
            completion = await self._sender.send(
                self._url("/generate"),
                {**given, **self._sampling_fields(sampling, "generate")},
                lambda answer, headers: generate_answer(answer, headers, tags),
                headers=session,
            )
        if completion.prompt_token_ids is None and not isinstance(prompt, str):
            completion.prompt_token_ids = prompt
        return self._noted(completion, sampling)

    async def _ready(self) -> None:
        """Prepare once, and follow the server's queue while requests are in flight, if the limit is adaptive."""
        if not self._prepared:
            await self.prepare()
        if self._watch is not None:
            self._watch.begin()

    async def prompt_ids(
        self, messages: list[Message], tools: list[dict[str, Any]] | None = None, *, add_generation_prompt: bool = True
    ) -> list[int]:
        """Return the token ids of a conversation, by default up to the opening of the assistant's next turn, as the
        server has them.

        Raises:
            NotSupportedError: if the server does not tokenize conversations.
            ModelError: if it does not answer.
        """
        if not self._prepared:
            await self.prepare()
        return await server_prompt_ids(
            self.post, self.capabilities.server, self.model, sendable(messages), tools, add_generation_prompt
        )

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """Send a JSON object to another endpoint of the server, for example ``/tokenize``, and return its answer.

        Raises:
            ModelError: as for every request, retries included.
        """
        if not self._prepared:
            await self.prepare()
        return await self._sender.send(self._url(path), body, lambda answer, _: answer)

    def _url(self, path: str) -> Any:
        """Return the address of an endpoint; native endpoints are below the server's root."""
        url = self._urls.get(path)
        if url is None:
            from yarl import URL

            is_api = path in _BELOW_API or path.startswith("/models/")
            below = self._address.api if is_api else self._address.root
            url = self._urls[path] = URL(f"{below}{path}{self._address.query}", encoded=path.startswith("/models/"))
        return url

    async def _metrics(self) -> bytes | None:
        """Return the server's page of metrics; None if it has none."""
        reply = await self._transport.request("GET", self._url("/metrics"))
        return reply.body if reply.status == 200 else None

    def _note_no_queue(self) -> None:
        self.capabilities.note("the server shows no queue at /metrics; only refusals lower the requests in flight")

    def _session_headers(self, sampling: Sampling | None) -> dict[str, str] | None:
        session = sampling.session if sampling is not None and self._affinity else None
        return None if session is None else session_headers(session)

    def _sampling_fields(self, sampling: Sampling | None, kind: str) -> dict[str, Any]:
        known = self._fields.get(kind)
        if known is not None and known[0] is sampling:
            return known[1]
        asked = sampling or Sampling()
        server = self.capabilities.server
        if kind == "generate":
            fields = generate_fields(asked)
        elif kind == "llamacpp":
            fields = llamacpp_fields(asked)
        else:
            fields = openai_fields(asked, chat=kind == "chat")
            if kind == "chat" and self._affinity and asked.session is not None:
                fields = {SESSION_FIELD: asked.session, **fields}
            if self._ask_ids or (self._ask_ids is None and (server in ("vllm", "sglang"))):
                fields = {**ID_FIELDS[server], **fields}
            if self._stream:
                fields = {"stream": True, "stream_options": {"include_usage": True}, **fields}
        self._fields[kind] = (sampling, fields)
        return fields

    def _noted(self, completion: Completion, sampling: Sampling | None) -> Completion:
        """Note what the server gives, the first time."""
        known = self.capabilities
        if completion.token_ids is not None:
            known.token_ids = True
        elif known.token_ids is None and self._ask_ids:
            known.token_ids = False
            known.note("token ids are asked for, and the server gives none")
        if completion.prompt_token_ids is not None:
            known.prompt_token_ids = True
        if completion.logprobs is not None:
            known.logprobs = True
        elif known.logprobs is None and sampling is not None and sampling.logprobs:
            known.logprobs = False
            known.note("log-probabilities are asked for, and the server gives none")
        return completion

    async def _prepare(self) -> None:
        if self.model and self._ask_ids is False and self.protocol != "generate":
            self._prepared = True
            return
        try:
            entries = await asyncio.wait_for(self._list_models(once=bool(self.model)), None if not self.model else 10.0)
        except (ModelError, ContextOverflow, asyncio.TimeoutError):
            if not self.model:
                raise
            entries = []  # a server need not list its models
        names = [entry["id"] for entry in entries]
        if not self.model:
            if len(names) != 1:
                shown = ", ".join(readable(name, 80) for name in names[:_MOST_MODELS])
                more = f" and {len(names) - _MOST_MODELS} more" if len(names) > _MOST_MODELS else ""
                has = f"several models: {shown}{more}" if names else "no model"
                raise ArgumentError(f"{self.base_url} has {has}; name one with model=…")
            self.model = names[0]
        mine = next((entry for entry in entries if entry["id"] == self.model), entries[0] if entries else {})
        self.capabilities.server = _SERVERS.get(str(mine.get("owned_by", "")).lower())
        self._prepared = True

    async def _list_models(self, once: bool = False) -> list[dict[str, Any]]:
        url = self._url("/models")
        if once:
            return await self._sender.attempt("GET", url, {}, _entries)
        return await self._sender.send(url, {}, _entries, method="GET")

    def _forget_preparing(self, future: asyncio.Future[None]) -> None:
        self._preparing = None
        if not future.cancelled():
            future.exception()  # so that asyncio does not report it a second time


_DIALECTS = {
    "gemini": ("/models/MODEL:generateContent", gemini_request, gemini_answer),
    "messages": ("/messages", messages_request, messages_answer),
    "responses": ("/responses", responses_request, responses_answer),
}
"""Protocol → its path, in which MODEL is replaced, what makes the body of a request, and what reads an answer."""

WITHOUT: dict[str, tuple[str, ...]] = {"messages": ("seed", "logprobs"), "responses": ("seed", "stop")}
"""Protocol → what :class:`Sampling` has and it does not; requests leave it out."""

_BELOW_API = ("/chat/completions", "/completions", "/models", *(path for path, _, _ in _DIALECTS.values()))


def key_variable(protocol: str) -> str:
    """Return the name of the environment variable that holds the key of a protocol's server."""
    return _KEYS.get(protocol, "OPENAI_API_KEY")


def _messages_headers(key: str) -> dict[str, str]:
    return {"anthropic-version": MESSAGES_VERSION, **({"x-api-key": key} if key else {})}


def _entries(answer: Any, _: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the models in an answer, each with its name under ``id``."""
    listed = answer.get("data", answer.get("models")) if isinstance(answer, dict) else answer
    if not isinstance(listed, list):
        raise ModelError("bad_response", "the server's list of models is no list")
    entries = [entry for entry in listed if isinstance(entry, dict)]
    for entry in entries:  # Google's have a name alone
        if "id" not in entry and isinstance(name := entry.get("name"), str):
            entry["id"] = name.removeprefix("models/")
    return [entry for entry in entries if isinstance(entry.get("id"), str) and entry["id"]]
