"""Errors and warnings of the sandbox."""

from __future__ import annotations

from gem.errors import GemError

__all__ = ["InfrastructureError", "SandboxError", "SandboxWarning"]


class SandboxError(GemError, RuntimeError):
    """The requested kind of sandbox is not available, or the sandbox is closed."""


class InfrastructureError(SandboxError):
    """The process that programs are forked from ended twice while one ran, which says nothing about the program.

    It is an error and no result, so that nobody takes it for one: in an environment it truncates the episode, and the
    outcome is unknown.
    """


class SandboxWarning(UserWarning):
    """Code runs with less protection than in a jail; the message names the missing protection and the reason."""
