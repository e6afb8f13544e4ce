"""Answers the calls of a session and records each, with its place in the tree: :class:`LineageRecorder`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection

from gem.errors import EpisodeLimitError, NotSupportedError, TrajectoryError
from gem_eval.clients import Completion, ModelClient
from gem_eval.clients.exact_completion import complete_exactly, token_source
from gem_gateway.call_errors import ModelCallError
from gem_gateway.call_sampling import SAMPLING_FIELDS
from gem_gateway.calls import ModelCall
from gem_gateway.client_answerer import ClientAnswerer
from gem_gateway.lineages.exact_prompts import ExactPrompts
from gem_gateway.lineages.journal import CallJournal
from gem_gateway.lineages.matching import CallMatcher, Match
from gem_rollout.chat_templates.sampled_prompt import ChatCodec, PromptTokenizer
from gem_rollout.lineages import EngineEvidence, LineageTree, RecordedCall, token_digest
from gem_rollout.trajectory.json_values import json_value
from gem_rollout.trajectory.token_edits import continues

__all__ = ["MOST_BYTES", "LineageRecorder"]

MOST_BYTES = 2**30
"""What the record of an episode may have. It is in memory until the episode has ended, and a program can make it grow
without asking a model for one token: by conversations that none takes."""


class LineageRecorder:
    """Asks a model for each call of a program, and records it before the answer leaves.

    With ``exact_tokens``, a prompt that continues a recorded call holds the ids that were sampled for it, whatever the
    program echoes; the server is asked with ids. Without, the server renders each prompt itself, and the record says
    which prompts happen to continue the ids of the one before.

    Args:
        client: a model client; the caller closes it.
        exact_tokens: see above.
        tokenizer: with ``exact_tokens``, one of the same model with a chat template; None asks the client.
        journal: a file for the record, beside :attr:`tree`; closed with the recorder.
        version: returns the version of the policy's weights at this moment.
        turns: returns how many turns the environment has taken so far.
        most_bytes: of the record. A call after that is refused, and in no record; one may exceed it.

    Raises:
        ArgumentError: if a tokenizer is needed or needless.
    """

    def __init__(
        self,
        client: ModelClient,
        *,
        exact_tokens: bool = False,
        tokenizer: ChatCodec | PromptTokenizer | None = None,
        journal: CallJournal | None = None,
        version: Callable[[], int | str | None] = lambda: None,
        turns: Callable[[], int | None] = lambda: None,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.tree = LineageTree()
        self._most_bytes = most_bytes
        self._bytes = 0
        self._client = client
        self._journal = journal
        self._version = version
        self._turns = turns
        self._matcher = CallMatcher(self.tree)
        self._prompts: ExactPrompts | None = None
        self._rendering = asyncio.Lock()
        source = token_source(client, tokenizer, exact_tokens)
        if source is not None:
            self._prompts = ExactPrompts(source, self.tree)

    @property
    def extra_fields(self) -> Collection[str] | None:
        """What :attr:`Sampling.extra` of a call may hold; None if all of it is passed on.

        With ``exact_tokens``, a prompt is continued, which no server takes the choice of a tool for.
        """
        takes: Collection[str] | None = getattr(self._client, "extra_fields", None)
        return SAMPLING_FIELDS if takes is None and self._prompts is not None else takes

    @property
    def dialect(self) -> str | None:
        """What the client speaks to its server, where that is said."""
        return ClientAnswerer(self._client).dialect

    async def count_tokens(self, call: ModelCall) -> int:
        """Return how many tokens the prompt of a call has; see :meth:`ClientAnswerer.count_tokens`."""
        return await ClientAnswerer(self._client).count_tokens(call)

    async def answer(self, call: ModelCall) -> Completion:
        """Return the model's answer once it is recorded; a failure is recorded as well.

        Raises:
            ModelError, ContextOverflow: if there is no answer.
            EpisodeLimitError: with the limit ``record``, if the record is full.
            NotSupportedError: with ``exact_tokens``, if the server or the template cannot have them.
            ModelCallError: if no record can hold the request, which the model then does not get.
            TrajectoryError: if the record cannot be kept; the answer is lost with it.
        """
        if self._bytes >= self._most_bytes:
            raise EpisodeLimitError("record", f"the record of these calls is full: it has {self._bytes:,} bytes")
        began = time.perf_counter()
        match = Match(b"", reason="a prompt without messages") if call.prompt is not None else self._matcher.match(call)
        record = RecordedCall(
            [dict(message) for message in call.messages[match.shown :]],
            parent=match.parent,
            began=match.reason,
            tools=[str(tool.get("function", {}).get("name")) for tool in call.tools or ()],
            version=self._version(),
            turn=self._turns(),
            dialect=call.dialect,
            metadata={**call.metadata, **({"notes": list(call.notes)} if call.notes else {})},
        )
        _check_recordable(record)
        try:
            completion, prompt = await self._ask(call, match, record)
        except (Exception, asyncio.CancelledError) as error:
            record.error = f"{type(error).__name__}: {error}"
            record.seconds = time.perf_counter() - began
            self._keep(record)
            raise
        record.seconds = time.perf_counter() - began
        _fill(record, completion, prompt)
        index = self._keep(record)
        if call.prompt is None:
            self._matcher.note(index, match)
        return completion

    async def close(self) -> None:
        """Close the journal. Calling it again does nothing."""
        if self._journal is not None:
            self._journal.close()

    async def _ask(self, call: ModelCall, match: Match, record: RecordedCall) -> tuple[Completion, list[int] | None]:
        """Return the completion, and the ids of its prompt as they were sent, or as the server says it took them."""
        if call.prompt is not None:
            completion = await self._client.complete(call.prompt, sampling=call.sampling)
            sent = call.prompt if isinstance(call.prompt, list) else completion.prompt_token_ids
            record.added_ids = None if sent is None else list(sent)
            return completion, sent
        if self._prompts is not None:
            if call.response_format is not None:
                raise NotSupportedError("exact tokens and response_format exclude each other; leave one of them out")
            async with self._rendering:  # tokenizers of servers are asked one conversation at a time
                prompt, reason = await self._prompts.ids(call.messages, call.tools, match)
            self._place(record, match, prompt, reason)
            completion = await complete_exactly(
                self._client, prompt, call.messages, has_tools=bool(call.tools), sampling=call.sampling
            )
            return completion, prompt
        completion = await self._client.chat(
            call.messages, tools=call.tools, sampling=call.sampling, response_format=call.response_format
        )
        sent = completion.prompt_token_ids
        if sent is not None:
            self._place(record, match, sent, match.reason or "the server rendered the conversation anew")
        return completion, sent

    def _place(self, record: RecordedCall, match: Match, prompt: list[int], reason: str | None) -> None:
        """Write a prompt's ids into a record, those alone that it adds where it continues the parent's."""
        before, sampled = None, None
        if match.parent is not None:
            before, sampled = self.tree.prompt_ids(match.parent), self.tree.calls[match.parent].token_ids
        if before is not None and sampled is not None and continues(prompt, before, sampled):
            record.exact, record.added_ids = True, prompt[len(before) + len(sampled) :]
        else:
            record.exact, record.added_ids = False, list(prompt)
            if match.parent is not None and reason is not None:
                record.metadata["new_row"] = reason

    def _keep(self, record: RecordedCall) -> int:
        written = self.tree.add(record)
        self._bytes += len(written)
        if self._journal is not None:
            self._journal.write(written)
        return len(self.tree.calls) - 1


def _check_recordable(record: RecordedCall) -> None:
    """Raise ModelCallError for what a record cannot hold.

    A program could otherwise have its model asked by calls that are in no record, and whose tokens nobody counts.
    """
    try:
        json_value([record.messages, record.metadata], "the request")
    except TrajectoryError as error:
        raise ModelCallError("unusable", str(error)) from error


def _fill(record: RecordedCall, completion: Completion, prompt: list[int] | None) -> None:
    """Write what the model's server said into a record."""
    record.answer = completion.message
    if completion.reasoning is not None and not record.answer.keys() & {"reasoning", "reasoning_content"}:
        record.answer = {**record.answer, "reasoning_content": completion.reasoning}
    record.token_ids, record.logprobs = completion.token_ids, completion.logprobs
    record.finish_reason, record.usage, record.model = completion.finish_reason, completion.usage, completion.model
    if completion.version is not None:  # the server knows better than the trainer, who knows when it asked
        record.version, record.version_spans = completion.version, completion.version_spans
    if completion.first_token_seconds is not None:
        record.metadata["first_token_seconds"] = round(completion.first_token_seconds, 6)
    told = completion.prompt_token_ids
    if told is not None and prompt is not None:
        record.evidence = EngineEvidence(
            token_digest(told), None if completion.token_ids is None else token_digest(completion.token_ids)
        )
    elif completion.token_ids is not None:
        record.evidence = EngineEvidence(sampled=token_digest(completion.token_ids))
