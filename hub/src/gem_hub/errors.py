"""The error of the registry side beside those of :mod:`gem.errors`.

::

    GemError
    ├── HubRefusal (ValueError)    what was asked for is not allowed; nothing has changed
    └── HubError (RuntimeError)    of gem-core: a file of the hub is damaged or missing
"""

from __future__ import annotations

from gem.errors import GemError

__all__ = ["HubRefusal"]


class HubRefusal(GemError, ValueError):  # noqa: N818  # a refusal is an answer, not a failure of the hub
    """The hub does not do what was asked; the message says why. Nothing has changed."""
