"""Which recorded call a request continues: :class:`CallMatcher`."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from gem_eval.clients.base import Message
from gem_gateway.calls import ModelCall
from gem_gateway.lineages.normal_form import ConversationDigests, answer_digest
from gem_rollout.lineages import LineageTree, token_digest

__all__ = ["CallMatcher", "Match"]


@dataclass(frozen=True, slots=True)
class Match:
    """The place of a request among the recorded calls."""

    digest: bytes
    """Of its conversation, in normal form."""
    parent: int | None = None
    """The call that it continues."""
    shown: int = 0
    """How many of its messages are the parent's, the answer included."""
    reason: str | None = None
    """Why it continues none, in words."""


class CallMatcher:
    """Finds the recorded call whose conversation and answer a request begins with.

    The conversation must agree message by message, and the answer with what the model wrote, both in normal form. Of
    several such calls, retries that were answered alike, the one is taken whose call ids or reasoning the request
    echoes; if that does not tell, their ids decide nothing only where they are the same. Otherwise there is no match:
    ids are never taken from a call that may be the wrong one.

    Args:
        tree: the calls so far; :meth:`note` is told of each that is added.
    """

    def __init__(self, tree: LineageTree) -> None:
        self._tree = tree
        self._digests = ConversationDigests()
        self._answers: defaultdict[bytes, list[int]] = defaultdict(list)
        self._tokens: dict[int, tuple[str, str] | None] = {}

    def match(self, call: ModelCall) -> Match:
        """Return the place of a request."""
        messages = call.messages
        digests = self._digests.of(messages, call.tools)
        if not digests:
            return Match(b"", reason="the request has no messages")
        digest = digests[-1]
        last = len(messages) - 1
        while last >= 0 and messages[last].get("role") != "assistant":
            last -= 1
        if last < 0:
            return Match(digest, reason="the first call of a conversation" if self._tree.calls else "the first call")
        found = self._answers.get(digests[last], [])
        if not found:
            known = any(digests[place] in self._answers for place in range(last))
            return Match(digest, reason=_CHANGED_ANSWER if known else _UNKNOWN)
        if len(found) > 1:
            found = self._told_apart(found, messages[last])
        if len(found) > 1:
            return Match(digest, reason=f"{len(found)} recorded calls were answered alike, with other tokens")
        if last + 1 == len(messages):
            return Match(digest, reason="nothing follows the model's own answer")
        return Match(digest, found[0], last + 1)

    def note(self, index: int, match: Match) -> None:
        """Make a call that was answered known."""
        answer = self._tree.calls[index].answer
        if answer is not None:
            self._answers[answer_digest(match.digest, answer)].append(index)

    def _told_apart(self, found: list[int], echoed: Message) -> list[int]:
        """Return the calls that the echoed answer can be of; the latest alone if all have the same tokens."""
        ids = _call_ids(echoed)
        if ids:
            by_ids = [index for index in found if _call_ids(self._tree.calls[index].answer) == ids]
            found = by_ids or found
        reasoning = _reasoning(echoed)
        if len(found) > 1 and reasoning:
            by_reasoning = [index for index in found if _reasoning(self._tree.calls[index].answer) == reasoning]
            found = by_reasoning or found
        if len(found) > 1 and len(tokens := {self._tokens_of(index) for index in found}) == 1 and None not in tokens:
            return found[-1:]
        return found

    def _tokens_of(self, index: int) -> tuple[str, str] | None:
        """Return digests of a call's ids, each of which is made once however often a program repeats itself."""
        if index not in self._tokens:
            prompt, sampled = self._tree.prompt_ids(index), self._tree.calls[index].token_ids
            if prompt is None or sampled is None:
                self._tokens[index] = None
            else:
                self._tokens[index] = token_digest(prompt), token_digest(sampled)
        return self._tokens[index]


_UNKNOWN = "its latest answer, or what stands before it, is not as any recorded call has it"
_CHANGED_ANSWER = "an earlier answer is recorded, but a later one or what lies between was changed"


def _call_ids(message: Message | None) -> list[Any]:
    calls = (message or {}).get("tool_calls")
    return [call.get("id") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _reasoning(message: Message | None) -> Any:
    message = message or {}
    return message.get("reasoning") or message.get("reasoning_content")
