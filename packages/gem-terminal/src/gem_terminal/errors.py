"""Errors of terminal tasks."""

from __future__ import annotations

from gem.errors import GemError

__all__ = ["EngineError", "EngineFullError", "TaskError"]


class TaskError(GemError, ValueError):
    """A task folder is malformed, or needs an unsupported feature."""

    def __init__(self, message: str, need: str | None = None) -> None:
        super().__init__(message)
        self.need = need
        """The unsupported feature, for counts: ``several containers``, ``Windows``; None for a malformed task."""


class EngineError(GemError, RuntimeError):
    """A container engine is missing, refuses a request, or failed."""


class ContentError(EngineError):
    """The files of a container cannot be copied, because of their size or shape, which its processes decide."""


class EngineFullError(EngineError):
    """An engine has as many containers as it may; another one may have room, or this one later."""
