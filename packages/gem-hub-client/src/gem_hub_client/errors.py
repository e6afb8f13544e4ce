"""The errors of the hub client.

::

    HubError (RuntimeError)    a hub, or a file of it, cannot be used
    ├── MissingFileError       the hub has no such file
    └── TrustError             what the hub serves is not signed as its keys demand

They stand apart from ``gem.errors`` because the client imports nothing of gem-core. Under ``gem hub`` they reach a
person as every other error does: one line, exit code 1.
"""

from __future__ import annotations

__all__ = ["HubError", "MissingFileError", "TrustError"]


class HubError(RuntimeError):
    """A hub cannot be reached, one of its files breaks a rule, or it lacks the requested package."""


class MissingFileError(HubError):
    """The hub answered that it has no such file."""


class TrustError(HubError):
    """A signature is missing, wrong or too old, or contradicts what the client knows of the hub's keys."""
