"""Errors as OpenAI's interfaces tell them: ``{"error": {"message", "type", "param", "code"}}``."""

from __future__ import annotations

from typing import Any

from gem_gateway.call_errors import ModelCallError

__all__ = ["openai_error"]

_TYPES = {
    "authentication": ("authentication_error", "invalid_api_key"),
    "ended": ("authentication_error", "session_ended"),
    "not_found": ("invalid_request_error", "unknown_url"),
    "context": ("invalid_request_error", "context_length_exceeded"),
    "filtered": ("invalid_request_error", "content_filter"),
    "budget": ("insufficient_quota", "insufficient_quota"),
    "busy": ("rate_limit_error", "rate_limit_exceeded"),
    "slow": ("invalid_request_error", "request_timeout"),
    "too_large": ("invalid_request_error", "request_too_large"),
    "model": ("server_error", "model_unavailable"),
    "internal": ("server_error", "internal_error"),
}
"""Kind of an error → its ``type`` and ``code``; all others are invalid requests without a code."""


def openai_error(error: ModelCallError) -> dict[str, Any]:
    """Return the body that tells an error."""
    kind, code = _TYPES.get(error.kind, ("invalid_request_error", None))
    return {"error": {"message": str(error), "type": kind, "param": error.param, "code": code}}
