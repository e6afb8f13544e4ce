"""The bodies of errors, in the forms that servers give them."""

from __future__ import annotations

from typing import Any

import orjson

from gem_eval.fake_model.connection import HttpReply
from gem_eval.fake_model.dialects import Dialect

__all__ = ["error_reply", "flat_error", "nested_error"]

_TYPES = {
    400: "BadRequestError",
    401: "AuthenticationError",
    404: "NotFoundError",
    422: "UnprocessableEntityError",
    429: "RateLimitError",
    500: "InternalServerError",
    503: "ServiceUnavailableError",
}


def nested_error(message: str, status: int, param: str | None = None) -> dict[str, Any]:
    """Return an error as OpenAI and newer vLLM write it."""
    kind = _TYPES.get(status, "InternalServerError")
    return {"error": {"message": message, "type": kind, "param": param, "code": status}}


def flat_error(message: str, status: int, param: str | None = None) -> dict[str, Any]:
    """Return an error as SGLang and older vLLM write it."""
    kind = _TYPES.get(status, "InternalServerError")
    return {"object": "error", "message": message, "type": kind, "param": param, "code": status}


def error_reply(
    dialect: Dialect,
    message: str,
    status: int,
    param: str | None = None,
    headers: tuple[tuple[str, str], ...] = (),
) -> HttpReply:
    """Return an error as a server of this dialect writes it."""
    if dialect.name == "transformers":
        body: dict[str, Any] = {"detail": message}
    else:
        body = (flat_error if dialect.flat_errors else nested_error)(message, status, param)
    return HttpReply(status, orjson.dumps(body), (("Content-Type", "application/json"), *headers))
