"""What can go wrong between a policy and a model.

============== ======== ======= ==========================================================================
kind           source   retried when
============== ======== ======= ==========================================================================
unreachable    endpoint yes     no connection, or it broke before an answer came
timeout        endpoint yes     the answer took longer than allowed, or the server says so (408, 504)
rate_limited   endpoint yes     429, or another status with the words for it
server_error   endpoint yes     any other 5xx, also as the code of an error inside a stream or an answer of status 200
incomplete     endpoint yes     an answer that is cut off or damaged on its way
empty          endpoint yes     an answer without a single token
bad_response   endpoint no      a whole answer that is no completion: no choice, an error that names no passing reason,
                                JSON of another shape, no JSON, too long
bad_request    endpoint no      the server refuses the request (400, 404, 422 …)
authentication endpoint no      the key or the account is refused (401, 402, 403, an exhausted quota)
content_filter agent    no      a filter of the provider withheld prompt or answer
============== ======== ======= ==========================================================================

The kind decides whether a request is repeated: what a server says with a whole answer, it would say again. Where the
status is 200 and another answer may come (``incomplete``, ``empty``, a ``server_error`` inside), it is asked for three
times more at most.

A full context is no failure but the end of the episode: :class:`ContextOverflow`.
"""

from __future__ import annotations

from gem.errors import EpisodeLimitError, GemError

__all__ = ["RETRIED", "ContextOverflow", "ModelError"]

RETRIED = frozenset({"unreachable", "timeout", "rate_limited", "server_error", "incomplete", "empty"})
"""Kinds of failures that another attempt may cure."""


class ModelError(GemError, RuntimeError):
    """A call of a model that has no answer.

    Attributes:
        failure_kind: one of the kinds in the table of :mod:`gem_eval.clients.errors`.
        failure_source: ``"endpoint"``, or ``"agent"`` for what the model itself did.
        status: the HTTP status; None without one.
        retry_after: seconds after which the server wants to be asked again; None if it does not say.
        retryable: whether another attempt may help.
        attempts: how often the request was sent.
        answered: whether it is about the content of an answer with status 200.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        retryable: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.failure_kind = kind
        self.failure_source = "agent" if kind == "content_filter" else "endpoint"
        self.status = status
        self.retry_after = retry_after
        self.retryable = kind in RETRIED if retryable is None else retryable
        self.attempts = 1
        self.answered = False


class ContextOverflow(EpisodeLimitError):  # noqa: N818  # it ends an episode, and is no failure
    """The prompt, or the prompt with the answer that was asked for, exceeds the model's context."""

    def __init__(self, message: str = "") -> None:
        super().__init__("context", message or "the model's context is full")
