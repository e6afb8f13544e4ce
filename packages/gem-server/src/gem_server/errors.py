"""The errors of this package.

::

    gem.errors.GemError
    └── ServiceError (RuntimeError)
        ├── ServiceUnavailableError (ConnectionError)   no server answered in time
        ├── ServiceRefusedError                         a server answered, and refused
        │   └── AccessDeniedError (PermissionError)     the token is missing or wrong, or the origin is not allowed
        ├── CapacityError                               the server has as many sessions as it may
        ├── SequenceError (ValueError)                  a step id that is neither the last nor the next one
        ├── UnknownSessionError (LookupError)           the session was never opened, is closed, or was reaped
        └── WorkerLostError                             the process of the environment ended
"""

from __future__ import annotations

from gem.errors import GemError

__all__ = [
    "AccessDeniedError",
    "CapacityError",
    "SequenceError",
    "ServiceError",
    "ServiceRefusedError",
    "ServiceUnavailableError",
    "UnknownSessionError",
    "WorkerLostError",
]


class ServiceError(GemError, RuntimeError):
    """Something between the caller and an environment behind a server failed."""


class ServiceUnavailableError(ServiceError, ConnectionError):
    """No server answered in time."""


class ServiceRefusedError(ServiceError):
    """A server answered, and refused what was asked."""


class AccessDeniedError(ServiceRefusedError, PermissionError):
    """The token is missing or wrong, or the browser's origin is not allowed."""


class CapacityError(ServiceError):
    """The server has as many sessions, or as many connections, as it may."""


class SequenceError(ServiceError, ValueError):
    """A step id that is neither that of the last call nor the next one."""


class UnknownSessionError(ServiceError, LookupError):
    """The session was never opened, is closed, or was reaped after too long without a call."""


class WorkerLostError(ServiceError):
    """The worker process of the environment ended."""
