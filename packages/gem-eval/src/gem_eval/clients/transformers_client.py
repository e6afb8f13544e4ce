"""A model in this process: :class:`TransformersClient`, on Hugging Face ``transformers``.

Needs the extra ``gem-eval[transformers]``. For tests, small models and debugging; a server is faster for everything
else.
"""

from __future__ import annotations

import asyncio
import math
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gem.arguments import choice, integer, string
from gem.errors import ArgumentError, MissingPluginError, NotSupportedError
from gem_eval.clients.base import Completion, Message, Sampling
from gem_eval.clients.errors import ContextOverflow, ModelError
from gem_eval.clients.json_text import readable
from gem_eval.clients.local_generation import GeneratedTokens, GenerationJob, generate
from gem_eval.clients.reasoning import ThinkTags, split_reasoning
from gem_eval.clients.structured_output import SchemaConstraint, TokenGrammar
from gem_eval.clients.token_data import IMPOSSIBLE
from gem_eval.clients.tool_call_repair import call_natively
from gem_rollout.chat_templates.rendered_text import text_only
from gem_rollout.chat_templates.sampled_prompt import SampledPrompt, render_chat

__all__ = ["TransformersClient"]

_MOST_TOKENS = 512
"""Tokens of an answer, where neither the caller nor the model's settings say how many."""


class TransformersClient:
    """Samples from a causal language model in a thread, up to ``batch_size`` prompts at a time.

    Token ids and log-probabilities are exact. The model loads with the first request. Where :class:`Sampling` leaves
    something open, the model's generation settings decide.

    Args:
        path: a folder with a model and its tokenizer, also behind ``transformers:`` as a URL; or a name on the Hugging
            Face hub.
        model: the name that answers carry; None takes the folder's.
        device: for example ``cpu`` or ``cuda:0``.
        batch_size: most prompts at a time.
        dtype: for example ``bfloat16``; ``auto`` takes that of the file.
        protocol: what :class:`ModelPolicy` calls: ``chat``, or ``completions`` for models without a chat template.
        think_tags: whether to split reasoning off the text.
        chat_template_kwargs: passed on to the chat template, for example ``{"enable_thinking": False}``.

    Raises:
        ArgumentError: if the folder does not exist.
    """

    extra_fields = frozenset({"top_k"})
    """What :attr:`Sampling.extra` may hold."""

    text_alone = True
    """Pictures do not reach the model."""

    def __init__(
        self,
        path: str,
        model: str | None = None,
        *,
        device: str = "cpu",
        batch_size: int = 16,
        dtype: str = "auto",
        protocol: str = "chat",
        think_tags: ThinkTags = "auto",
        chat_template_kwargs: dict[str, Any] | None = None,
    ) -> None:
        self.path = string("path", path.removeprefix("transformers:"))
        folder = Path(self.path).expanduser()
        if folder.is_dir():
            self.path = str(folder)
        elif self.path.startswith((".", "/", "~")):
            raise ArgumentError(f"there is no folder {self.path!r} with a model")
        if any(find_spec(name) is None for name in ("transformers", "torch")):
            raise MissingPluginError(
                'models in this process need transformers and torch; run: pip install "gem-eval[transformers]"'
            )
        self.model = model or Path(self.path).name
        self.batch_size = integer("batch_size", batch_size, minimum=1)
        self.protocol = choice("protocol", protocol, ("auto", "chat", "completions"))
        self._device, self._dtype = string("device", device), string("dtype", dtype)
        self._think_tags = choice("think_tags", think_tags, ("auto", "always", "never"))
        self._template_arguments = dict(chat_template_kwargs or {})
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="transformers")
        self._waiting: list[tuple[GenerationJob, asyncio.Future[GeneratedTokens]]] = []
        self._worker: asyncio.Task[None] | None = None
        self._network: Any = None
        self._tokenizer: Any = None
        self._grammar: TokenGrammar | None = None
        self._shows_tools: bool | None = None

    def __repr__(self) -> str:
        return f"TransformersClient({self.path!r})"

    async def chat(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        sampling: Sampling | None = None,
        response_format: dict[str, Any] | None = None,
    ) -> Completion:
        """Return the model's next message; see :meth:`ModelClient.chat`.

        Tool calls are read from the text, in the form ``<tool_call>{…}</tool_call>``. A ``response_format`` holds from
        the first token on, so a model that is to reason first has no place for it.

        Raises:
            NotSupportedError: for pictures, where the model has no chat template, and where structured output is not
                possible: see :meth:`TokenGrammar.constraint`.
        """
        ids = await self.prompt_ids(messages, tools)
        constraint = None
        if response_format is not None and response_format.get("type") != "text":
            loop = asyncio.get_running_loop()
            constraint = await loop.run_in_executor(self._thread, self._constraint, response_format)
        completion = await self._continued(ids, sampling or Sampling(), constraint)
        if tools:
            call_natively(completion, messages)
        return completion

    async def complete(self, prompt: str | list[int], *, sampling: Sampling | None = None) -> Completion:
        """Return the continuation of a text or of token ids; see :meth:`ModelClient.complete`."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self._load)
        ids = prompt if isinstance(prompt, list) else await loop.run_in_executor(self._thread, self._encode, prompt)
        return await self._continued(ids, sampling or Sampling(), None)

    async def _continued(self, ids: list[int], asked: Sampling, constraint: SchemaConstraint | None) -> Completion:
        tokens = await self._submit(self._job(ids, asked, constraint))
        reasoning, text = split_reasoning(tokens.text, self._think_tags)
        completion = Completion(
            {"role": "assistant", "content": text},
            text,
            reasoning,
            token_ids=tokens.ids,
            prompt_token_ids=list(ids),
            usage={"prompt_tokens": len(ids), "completion_tokens": len(tokens.ids)},
            finish_reason=tokens.finish_reason,
            model=self.model,
        )
        if asked.logprobs:
            completion.logprobs = [max(value, IMPOSSIBLE) for value in tokens.logprobs]
            completion.tokens = [self._tokenizer.decode([token]) for token in tokens.ids]
            if asked.top_logprobs:
                completion.top_logprobs = [
                    [(self._tokenizer.decode([token]), value) for token, value in top if value > -math.inf]
                    for top in tokens.top
                ]
        return completion

    async def prompt_ids(
        self, messages: list[Message], tools: list[dict[str, Any]] | None = None, *, add_generation_prompt: bool = True
    ) -> list[int]:
        """Return the token ids of a conversation, by default up to the opening of the assistant's next turn.

        Raises:
            NotSupportedError: for anything but text, and where the model has no chat template or one that leaves out
                a message.
        """
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self._load)
        if not getattr(self._tokenizer, "chat_template", None):
            raise NotSupportedError(f"{self.path} has no chat template; use protocol='completions'")
        arguments = {**self._template_arguments, **({"tools": tools} if tools else {})}
        if tools and self._shows_tools is None:
            self._shows_tools = self._has_place_for(messages, tools)
        if add_generation_prompt:
            return SampledPrompt(self._tokenizer, template_arguments=arguments).extend(messages)
        text = render_chat(self._tokenizer, text_only(messages), arguments, add_generation_prompt)
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    def _has_place_for(self, messages: list[Message], tools: list[dict[str, Any]]) -> bool:
        """Return whether the template shows the tools, and warn if it leaves them out."""
        known, shown = (
            render_chat(self._tokenizer, text_only(messages), {**self._template_arguments, **more}, True)
            for more in ({}, {"tools": tools})
        )
        if known == shown:
            warnings.warn(
                "the chat template has no place for tools, so the model is told of none: use --tools text, which "
                "explains them in the prompt, or a model whose template takes tools",
                stacklevel=3,
            )
        return known != shown

    async def close(self) -> None:
        """Free the model, after the prompts in work."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await asyncio.wait({worker})
        self._network = self._tokenizer = self._grammar = None
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _load(self) -> None:
        if self._network is not None:
            return
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging

        shows_bars = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()  # loading takes no longer than the first episodes, whose progress is shown
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(self.path)
            network = AutoModelForCausalLM.from_pretrained(self.path, dtype=self._dtype)
            self._network = network.to(self._device).eval()
        except Exception as error:  # of many kinds: files, formats, devices
            raise ModelError("bad_request", f"{self.path} cannot be loaded: {readable(str(error), 300)}") from error
        finally:
            if shows_bars:
                logging.enable_progress_bar()

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text)) or self._ends()[:1]

    def _ends(self) -> list[int]:
        """Return the tokens that end a text."""
        found = self._network.generation_config.eos_token_id
        ends = list(found) if isinstance(found, (list, tuple)) else [found]
        return [end for end in (*ends, self._tokenizer.eos_token_id) if end is not None]

    def _constraint(self, response_format: dict[str, Any]) -> SchemaConstraint:
        if self._grammar is None:
            self._grammar = TokenGrammar(self._tokenizer, self._network.config.vocab_size, self._ends())
        return self._grammar.constraint(response_format)

    def _job(self, ids: list[int], asked: Sampling, constraint: SchemaConstraint | None) -> GenerationJob:
        """Return a prompt with its settings, of which the model's own fill the gaps.

        Raises:
            ContextOverflow: if the prompt leaves no room for an answer.
        """
        unknown = set(asked.extra) - self.extra_fields
        if unknown:
            raise ArgumentError(f"a model in this process knows no {', '.join(sorted(unknown))}; extra may hold top_k")
        own = self._network.generation_config
        most = asked.max_tokens or own.max_new_tokens or _MOST_TOKENS
        context = getattr(self._network.config, "max_position_embeddings", None)
        if context is not None:
            if len(ids) >= context:
                raise ContextOverflow(f"the prompt has {len(ids)} tokens, and the model's context {context}")
            most = min(most, context - len(ids))
        own_temperature = (1.0 if own.temperature is None else own.temperature) if own.do_sample else 0.0
        return GenerationJob(
            ids,
            most,
            own_temperature if asked.temperature is None else asked.temperature,
            (own.top_p or 1.0) if asked.top_p is None else asked.top_p,
            asked.extra.get("top_k", (own.top_k or 0) if own.do_sample else 0),
            tuple(asked.stop),
            asked.seed,
            asked.top_logprobs if asked.logprobs else 0,
            constraint,
        )

    async def _submit(self, job: GenerationJob) -> GeneratedTokens:
        loop = asyncio.get_running_loop()
        result: asyncio.Future[GeneratedTokens] = loop.create_future()
        self._waiting.append((job, result))
        if self._worker is None or self._worker.done():
            self._worker = loop.create_task(self._work())
        return await result

    async def _work(self) -> None:
        """Sample for the waiting prompts, batch after batch."""
        loop = asyncio.get_running_loop()
        decode = partial(self._tokenizer.decode, skip_special_tokens=True)
        while self._waiting:
            await asyncio.sleep(0)  # prompts that are ready at the same time share a batch
            batch = [entry for entry in self._waiting if not entry[1].done()][: self.batch_size]
            self._waiting = [entry for entry in self._waiting if not entry[1].done()][len(batch) :]
            if not batch:
                continue
            jobs = [job for job, _ in batch]
            try:
                results = await loop.run_in_executor(
                    self._thread, generate, self._network, jobs, frozenset(self._ends()), decode
                )
            except Exception as error:  # out of memory, an id beyond the vocabulary
                failure = f"the model failed: {readable(str(error), 300)}"
                for _, result in batch:
                    if not result.done():
                        result.set_exception(ModelError("server_error", failure, retryable=False))
                continue
            for (_, result), tokens in zip(batch, results, strict=True):
                if not result.done():
                    result.set_result(tokens)
