"""Errors and warnings of the sandbox."""

from __future__ import annotations

from gem.errors import GemError

__all__ = ["SandboxError", "SandboxWarning"]


class SandboxError(GemError, RuntimeError):
    """The requested kind of sandbox is not available, or the sandbox is closed."""


class SandboxWarning(UserWarning):
    """Code runs with less protection than in a jail; the message names the missing protection and the reason."""
