"""What the sandbox raises and what it warns of."""

from __future__ import annotations

from gem.errors import GemError

__all__ = ["SandboxError", "SandboxWarning"]


class SandboxError(GemError, RuntimeError):
    """No sandbox of the wanted kind can be had here, or it has been closed."""


class SandboxWarning(UserWarning):
    """Code runs with less protection than a jail gives; the message says what is missing, and why."""
