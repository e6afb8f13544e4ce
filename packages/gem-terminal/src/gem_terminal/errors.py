"""Errors of terminal tasks."""

from __future__ import annotations

from gem.errors import GemError

__all__ = ["EngineError", "TaskError"]


class TaskError(GemError, ValueError):
    """A task folder is malformed, or needs an unsupported feature."""


class EngineError(GemError, RuntimeError):
    """A container engine is missing, refuses a request, or failed."""
