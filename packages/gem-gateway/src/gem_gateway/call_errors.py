"""What can keep a call from its answer: :class:`ModelCallError`, which each dialect tells the program in its own form.

=============== ====== ======================================================================
kind            status the call
=============== ====== ======================================================================
unusable        400    breaks a rule of the dialect, or asks for what the gateway does not have
authentication  401    carries no key of an open session
not_found       404    goes to a path at which nothing is
method          405    uses another method than its path takes
slow            408    did not arrive in time
too_large       413    is larger than the gateway accepts
encoding        415    is compressed in a way that the gateway does not read
context         400    is longer than the model's context
filtered        400    got no answer because a filter of the provider withheld it
busy            429    comes while too many others of its session are under way
budget          403    would exceed a budget of the episode; 400 in Responses, Messages and Gemini
ended           401    was under way, or came, when its session ended
model           502    got no answer from the model, whose client has tried again as often as it may
internal        500    met a fault of the gateway or of what answers for it
=============== ====== ======================================================================

The statuses are those of the Python clients of OpenAI and Anthropic, which repeat 408, 409, 429 and 5xx unless a header
``x-should-retry: false`` forbids it. The gateway sends that header with every error but ``busy``, since what else could
be cured by repetition has been repeated behind it. Programs that do not know the header go by the status, so that a
used-up budget has another one in each dialect (see :data:`BUDGET_STATUS`).
"""

from __future__ import annotations

from gem.errors import GemError

__all__ = ["BUDGET_STATUS", "STATUSES", "ModelCallError"]

STATUSES = {
    "unusable": 400,
    "authentication": 401,
    "not_found": 404,
    "method": 405,
    "slow": 408,
    "too_large": 413,
    "encoding": 415,
    "context": 400,
    "filtered": 400,
    "busy": 429,
    "ended": 401,
    "model": 502,
    "internal": 500,
}
"""Kind of an error → HTTP status; that of a used-up budget depends on the dialect."""

BUDGET_STATUS = {"chat": 403, "completions": 403, "responses": 400, "messages": 400, "gemini": 400}
"""Dialect → status of a call that exceeds a budget, chosen so that the program stops.

OpenAI's own answer would be 429 ``insufficient_quota``, which many programs repeat with growing pauses. 403 becomes the
error of litellm with which mini-swe-agent ends at once, where it tries ten times after 400 and 429 (its
``litellm_model.py``). Codex repeats after 403 and ends with 400 (its ``map_api_error`` and ``is_retryable``).
Anthropic's own status for a credit that is used up is 400. Gemini CLI repeats after 429 and 5xx, and ends with 400
(its ``retry.ts``); Google's own, 400 ``FAILED_PRECONDITION``, tells that an account must be paid for.
"""


class ModelCallError(GemError, RuntimeError):
    """A call of an agent program that gets no answer.

    Attributes:
        kind: one of the kinds in the table of :mod:`gem_gateway.call_errors`.
        param: the field of the request that is at fault; None without one.
        limit: with the kind ``budget``, which one is used up.
    """

    def __init__(self, kind: str, message: str, *, param: str | None = None, limit: str | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.param = param
        self.limit = limit

    def status(self, dialect: str) -> int:
        """Return the HTTP status in a dialect."""
        return BUDGET_STATUS[dialect] if self.kind == "budget" else STATUSES[self.kind]
