"""Refusals of a registry as HTTP answers: problem details (RFC 9457), or text for clients that want none.

Upload clients differ in what they show of a refusal: twine and hatch only show the status line, uv the body. So the
reason stands in both. ASGI has no status line; :class:`gem_hub.registry.server.RegistryProtocol` writes the field
:data:`REASON` there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

__all__ = ["REASON", "Problem", "problem_answer"]

REASON = "gem-reason"
"""The header field that becomes the reason phrase of the status line."""

_LONGEST_REASON = 400
_ALWAYS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class Problem(Exception):  # noqa: N818  # an answer to a client, not a failure of the registry
    """A request cannot be granted.

    Args:
        status: the HTTP status.
        detail: one or more sentences for the user: the problem, the value, and the remedy.
        headers: more header fields of the answer.
    """

    def __init__(self, status: HTTPStatus, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})


def problem_answer(request: Request, problem: Problem) -> Response:
    """Return the answer to a request that cannot be granted."""
    status = problem.status
    headers = {**_ALWAYS, **problem.headers, REASON: _reason(problem)}
    accept = request.headers.get("Accept", "")
    if request.url.path.startswith("/upload") and "problem+json" not in accept:
        return Response(f"{problem.detail}\n", status, headers, "text/plain; charset=utf-8")
    document = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": problem.detail}
    return Response(json.dumps(document), status, headers, "application/problem+json")


def _reason(problem: Problem) -> str:
    """Return the detail as a reason phrase: printable ASCII on one line."""
    line = " ".join(problem.detail.split())
    text = "".join(char if " " <= char <= "~" else "?" for char in line)
    return text if len(text) <= _LONGEST_REASON else f"{text[: _LONGEST_REASON - 3]}..."
