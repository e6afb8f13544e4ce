"""The error of the registry side, in addition to those of :mod:`gem.errors`.

::

    GemError
    └── HubRefusal (ValueError)    what was asked for is not allowed; nothing has changed

Where a file of a hub is damaged or missing, the registry side raises the client's
:class:`gem_hub_client.errors.HubError`.
"""

from __future__ import annotations

from gem.errors import GemError

__all__ = ["HubRefusal"]


class HubRefusal(GemError, ValueError):  # noqa: N818  # a refusal is an answer, not a failure of the hub
    """The hub rejects the request; the message gives the reason. Nothing has changed."""
