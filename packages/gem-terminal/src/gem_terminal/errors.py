"""What can go wrong with terminal tasks."""

from __future__ import annotations

from gem.errors import GemError

__all__ = ["EngineError", "TaskError"]


class TaskError(GemError, ValueError):
    """A task folder is malformed, or asks for what is not supported here."""


class EngineError(GemError, RuntimeError):
    """A container engine is missing, refuses, or has failed."""
