"""Errors of PostgreSQL's server, as opposed to those of an agent's statements."""

from __future__ import annotations

from gem.errors import GemError

__all__ = ["PostgresError"]


class PostgresError(GemError, ConnectionError):
    """PostgreSQL's programs or the client library are missing, or the server cannot be started or reached."""
